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

/** What somebody waits for. */
export type WalletStep = 'connecting' | 'preparing' | 'signing' | 'signing-again' | 'opening'

/** Why no wallet did what it was asked. */
type WalletFault = 'none' | 'rejected' | 'open-already' | 'no-account' | 'silent' | 'late' | 'broken'

export class WalletFailure extends Error {
  readonly fault: WalletFault
  /** As the wallet gave it; undefined without. */
  readonly code: number | undefined

  constructor(fault: WalletFault, code?: number) {
    super(fault)
    this.fault = fault
    this.code = code
  }
}

/** A message of the server that waits for its signature. */
export interface Challenge {
  readonly challengeId: string
  readonly message: string
  readonly issuedAt: string
  readonly expiresAt: string
}

export interface WalletFlow<Session> {
  readonly wallet: WalletProvider
  /** Asks the server for a message. */
  challenge(wallet: { chainType: 'evm'; address: string; chainId?: number }, signal: AbortSignal): Promise<Challenge>
  /** Sends the server the proof. */
  login(proof: { challengeId: string; address: string; signature: string }, signal: AbortSignal): Promise<Session>
  onStep(step: WalletStep): void
  /** Milliseconds. */
  now(): number
  /** Calls it off: what a wallet still answers counts no more. */
  readonly signal: AbortSignal
}

/** How long somebody has for what the wallet shows, and the wallet for what it need not ask anybody. */
const patienceMs = 5 * 60_000
const promptMs = 10_000

/** Errors of wallets that people bring about: EIP-1193, and EIP-1474 for a request that is open already. */
const faults: Readonly<Record<number, WalletFault>> = { 4001: 'rejected', 4100: 'rejected', [-32002]: 'open-already' }

/**
 * Lets a wallet prove whose it is. A message that expired while the wallet showed it is replaced by a new one, once.
 *
 * @throws WalletFailure, and what `challenge` and `login` throw
 */
export async function signInWithWallet<Session>(flow: WalletFlow<Session>): Promise<Session> {
  const { wallet, challenge, login, onStep, now, signal } = flow
  const ask = (method: string, params: readonly unknown[] = [], endMs = patienceMs) =>
    askWallet(wallet, { method, params }, { signal, endMs })
  onStep('connecting')
  const address = firstAccount(await ask('eth_requestAccounts'))
  const chainId = chainNumber(await ask('eth_chainId', [], promptMs))
  for (const signing of ['signing', 'signing-again'] as const) {
    if (signing === 'signing') onStep('preparing')
    const askedAt = now()
    const chain = chainId === undefined ? {} : { chainId }
    const { challengeId, message, issuedAt, expiresAt } = await challenge(
      { chainType: 'evm', address, ...chain },
      signal,
    )
    onStep(signing)
    const signature = await ask('personal_sign', [hexOf(message), address])
    // By the time that passed here: nobody knows whether the clock of this machine is right.
    if (now() - askedAt >= Date.parse(expiresAt) - Date.parse(issuedAt)) continue
    if (typeof signature !== 'string') throw new WalletFailure('broken')
    onStep('opening')
    return login({ challengeId, address, signature }, signal)
  }
  throw new WalletFailure('late')
}

/** A wallet may never answer, and what it shows cannot be taken back: its answer is not waited for any longer. */
function askWallet(
  wallet: WalletProvider,
  call: Parameters<WalletProvider['request']>[0],
  { signal, endMs }: { readonly signal: AbortSignal; readonly endMs: number },
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const onAbort = () => reject(signal.reason)
  const timer = setTimeout(() => reject(new WalletFailure('silent')), endMs)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  else
    Promise.resolve()
      .then(() => wallet.request(call))
      .then(resolve, (error: unknown) => {
        const code = Number((error as { readonly code?: unknown } | null)?.code ?? Number.NaN)
        reject(new WalletFailure(faults[code] ?? 'broken', Number.isInteger(code) ? code : undefined))
      })
  return promise.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  })
}

function firstAccount(accounts: unknown): string {
  const [first] = Array.isArray(accounts) ? (accounts as readonly unknown[]) : []
  if (typeof first !== 'string') throw new WalletFailure('no-account')
  return first
}

/** Wallets say it in hexadecimal; one that does not leaves it to the server. */
function chainNumber(said: unknown): number | undefined {
  const number = typeof said === 'string' || typeof said === 'number' ? Number(said) : Number.NaN
  return Number.isSafeInteger(number) && number > 0 ? number : undefined
}

/** The bytes that are signed, so that no wallet takes the text for something else. */
const hexOf = (text: string) =>
  `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
