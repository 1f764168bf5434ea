/** What a wallet is asked through (EIP-1193). */
export interface WalletProvider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

/** A wallet of this browser. */
export interface Wallet {
  readonly id: string
  /** As it calls itself; empty for one that does not say. */
  readonly name: string
  /** Address of a picture that holds its own data; empty without one. */
  readonly icon: string
  readonly provider: WalletProvider
}

/** The window, as wallets see it. */
interface WalletPage {
  /** The wallet of browsers whose wallets do not announce themselves. */
  readonly ethereum?: unknown
  addEventListener(type: string, listener: (event: Event) => void): void
  removeEventListener(type: string, listener: (event: Event) => void): void
  dispatchEvent(event: Event): boolean
}

/** More than anybody has; what pretends to be a wallet can announce itself any number of times. */
const mostWallets = 20
const longestName = 60
const longestIcon = 100_000

/**
 * Asks all wallets to announce themselves (EIP-6963). Where none does, the one that the browser holds out is taken.
 *
 * @param onChange all that are known so far, at once and whenever there is another
 * @returns what ends it
 */
export function discoverWallets(page: WalletPage, onChange: (wallets: readonly Wallet[]) => void): () => void {
  const announced = new Map<string, Wallet>()
  const tell = () => onChange(announced.size > 0 ? [...announced.values()] : heldOut(page))
  const onAnnounce = (event: Event) => {
    const wallet = walletOf((event as CustomEvent<unknown>).detail)
    if (wallet === undefined || (announced.size >= mostWallets && !announced.has(wallet.id))) return
    announced.set(wallet.id, wallet)
    tell()
  }
  page.addEventListener('eip6963:announceProvider', onAnnounce)
  page.dispatchEvent(new Event('eip6963:requestProvider'))
  if (announced.size === 0) tell()
  return () => page.removeEventListener('eip6963:announceProvider', onAnnounce)
}

const heldOut = ({ ethereum }: WalletPage): readonly Wallet[] =>
  isProvider(ethereum) ? [{ id: 'ethereum', name: '', icon: '', provider: ethereum }] : []

/** What an announcement says, unless it is none. */
function walletOf(detail: unknown): Wallet | undefined {
  const { info, provider } = (detail ?? {}) as { readonly info?: unknown; readonly provider?: unknown }
  const { uuid, name, icon } = (info ?? {}) as Readonly<Record<string, unknown>>
  if (typeof uuid !== 'string' || typeof name !== 'string' || !isProvider(provider)) return undefined
  const isPicture = typeof icon === 'string' && icon.startsWith('data:image/') && icon.length <= longestIcon
  return { id: uuid, name: name.slice(0, longestName), icon: isPicture ? icon : '', provider }
}

const isProvider = (value: unknown): value is WalletProvider =>
  typeof (value as Partial<WalletProvider> | null | undefined)?.request === 'function'
