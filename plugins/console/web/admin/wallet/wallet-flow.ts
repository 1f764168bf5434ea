/** Provider of a wallet (EIP-1193). */
export interface WalletProvider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

/** A wallet of this browser. */
export interface Wallet {
  readonly id: string
  /** Name given by the wallet; empty if there is none. */
  readonly name: string
  /** Data URL of the icon; empty if there is none. */
  readonly icon: string
  readonly provider: WalletProvider
}

/** The used part of the window. */
interface WalletPage {
  /** The wallet of browsers whose wallets do not announce themselves. */
  readonly ethereum?: unknown
  addEventListener(type: string, listener: (event: Event) => void): void
  removeEventListener(type: string, listener: (event: Event) => void): void
  dispatchEvent(event: Event): boolean
}

/** Limit of announced wallets, because a fake wallet can announce itself any number of times. */
const maxWallets = 20
const maxNameLength = 60
const maxIconLength = 100_000

/**
 * Requests the announcements of all wallets (EIP-6963). If there is none, the injected provider of the browser is used.
 *
 * @param onChange called immediately and on each change, with all known wallets
 * @returns a function that ends the discovery
 */
export function discoverWallets(page: WalletPage, onChange: (wallets: readonly Wallet[]) => void): () => void {
  const announced = new Map<string, Wallet>()
  const tell = () => onChange(announced.size > 0 ? [...announced.values()] : heldOut(page))
  const onAnnounce = (event: Event) => {
    const wallet = walletOf((event as CustomEvent<unknown>).detail)
    if (wallet === undefined || (announced.size >= maxWallets && !announced.has(wallet.id))) return
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

/** Returns the wallet of an announcement; undefined if it is invalid. */
function walletOf(detail: unknown): Wallet | undefined {
  const { info, provider } = (detail ?? {}) as { readonly info?: unknown; readonly provider?: unknown }
  const { uuid, name, icon } = (info ?? {}) as Readonly<Record<string, unknown>>
  if (typeof uuid !== 'string' || typeof name !== 'string' || !isProvider(provider)) return undefined
  const isPicture = typeof icon === 'string' && icon.startsWith('data:image/') && icon.length <= maxIconLength
  return { id: uuid, name: name.slice(0, maxNameLength), icon: isPicture ? icon : '', provider }
}

const isProvider = (value: unknown): value is WalletProvider =>
  typeof (value as Partial<WalletProvider> | null | undefined)?.request === 'function'

/** Step that the user waits for. */
export type WalletStep = 'connecting' | 'preparing' | 'signing' | 'signing-again' | 'opening'

/** Reason why a wallet did not sign. */
type WalletProblem = 'none' | 'rejected' | 'open-already' | 'no-account' | 'silent' | 'late' | 'broken'

export class WalletFailure extends Error {
  readonly fault: WalletProblem
  /** Error code of the wallet, if any. */
  readonly code: number | undefined

  constructor(fault: WalletProblem, code?: number) {
    super(fault)
    this.fault = fault
    this.code = code
  }
}

/** A message of the server that must be signed. */
export interface Challenge {
  readonly challengeId: string
  readonly message: string
  readonly issuedAt: string
  readonly expiresAt: string
}

export interface WalletFlow<Session> {
  readonly wallet: WalletProvider
  /** Requests a message from the server. */
  challenge(wallet: { chainType: 'evm'; address: string; chainId?: number }, signal: AbortSignal): Promise<Challenge>
  /** Sends the proof to the server. */
  login(proof: { challengeId: string; address: string; signature: string }, signal: AbortSignal): Promise<Session>
  onStep(step: WalletStep): void
  /** Milliseconds. */
  now(): number
  /** Aborts the sign-in. Later responses of a wallet are ignored. */
  readonly signal: AbortSignal
}

/** Time limit of a prompt for the user, and of wallet calls without a prompt. */
const patienceMs = 5 * 60_000
const promptMs = 10_000

/** Wallet errors caused by the user: EIP-1193, and EIP-1474 for a request that is already open. */
const problems: Readonly<Record<number, WalletProblem>> = {
  4001: 'rejected',
  4100: 'rejected',
  [-32002]: 'open-already',
}

/**
 * Proves the ownership of a wallet. A message that expired during the prompt is replaced by a new one, once.
 *
 * @throws WalletFailure, and errors of `challenge` and `login`
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
    // By the elapsed time, because the clock of this host may be wrong.
    if (now() - askedAt >= Date.parse(expiresAt) - Date.parse(issuedAt)) continue
    if (typeof signature !== 'string') throw new WalletFailure('broken')
    onStep('opening')
    return login({ challengeId, address, signature }, signal)
  }
  throw new WalletFailure('late')
}

/** Calls a wallet with a time limit, because it may never respond. Its prompt cannot be closed. */
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
        reject(new WalletFailure(problems[code] ?? 'broken', Number.isInteger(code) ? code : undefined))
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

/** Returns the chain id. Wallets return it in hexadecimal. Without one, the server decides. */
function chainNumber(said: unknown): number | undefined {
  const number = typeof said === 'string' || typeof said === 'number' ? Number(said) : Number.NaN
  return Number.isSafeInteger(number) && number > 0 ? number : undefined
}

/** Returns the signed bytes, so that a wallet cannot interpret the text in another way. */
const hexOf = (text: string) =>
  `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
