import { base } from '../shell/site-context.ts'

/** Reason why the page left for the server of a provider. */
export type Purpose = 'sign-in' | 'link' | 'proof'

interface Departure {
  readonly provider: string
  readonly purpose: Purpose
  /** Address of this site that is opened after the return. */
  readonly returnTo: string
}

/** Providers return to this address with their id. */
export const callbackAddress = `${base}/sign-in/oidc/`

/** The provider whose page is open; empty on all other pages. */
export const providerHere = location.pathname.startsWith(callbackAddress)
  ? decodeURIComponent(location.pathname.slice(callbackAddress.length))
  : ''

const storageName = 'plinth.provider'
const proofHash = '#proof'

export const addressHere = (): string => location.pathname + location.search + location.hash

/** Returns a function that opens a page of a provider in this tab. */
export const openProvider = (url: string) => () => location.assign(url)

/** Opens the server of a provider in this tab. The tab remembers why until the provider returns. */
export function leaveTo(url: string, departure: Departure): void {
  sessionStorage.setItem(storageName, JSON.stringify(departure))
  openProvider(url)()
}

interface Arrival extends Departure {
  /** Query string of the provider, which contains a code. */
  readonly parameters: string
  /** True if the page was opened as the window of a proof, so it leaves for the provider first. */
  readonly isProofWindow: boolean
}

/**
 * Returns why this tab left for the provider, and its response. Both are removed from the browser. A tab that did not
 * leave only signs in.
 */
export function takeArrival(): Arrival {
  const provider = providerHere
  const stored = JSON.parse(sessionStorage.getItem(storageName) ?? 'null') as Departure | null
  const { search, hash, pathname } = location
  sessionStorage.removeItem(storageName)
  history.replaceState(null, '', pathname)
  const departure = stored?.provider === provider ? stored : { provider, purpose: 'sign-in' as const, returnTo: '' }
  return { ...departure, parameters: search.slice(1), isProofWindow: hash === proofHash }
}

/** Opens a page of the back office. Any other address opens the overview. */
export function openPage(address: string): void {
  const url = new URL(address, location.origin)
  const isOwn = url.origin === location.origin && url.pathname.startsWith(`${base}/`)
  location.replace(isOwn ? url : `${base}/`)
}

/**
 * Opens a window in which the user proves the identity at a provider. A redirect of this page would lose its forms. The
 * result arrives through the channel of `Proofs`.
 *
 * @returns false if the browser blocked the window
 */
export const openProofWindow = (provider: string): boolean =>
  window.open(`${callbackAddress}${encodeURIComponent(provider)}${proofHash}`, '', 'popup,width=520,height=720') !==
  null
