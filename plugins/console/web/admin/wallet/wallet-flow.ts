/** Provider of a wallet (EIP-1193). */
export interface WalletProvider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

/** A wallet of this browser. */
export interface Wallet {
  readonly id: string
  /** Name that the wallet reports; empty if it reports none. */
  readonly name: string
  /** Icon of the wallet as a data URL; empty if there is none. */
  readonly icon: string
  readonly provider: WalletProvider
}

/** The part of the browser window that this module uses. */
interface WalletWindow {
  /** Wallet that a browser extension injects without announcing itself. */
  readonly ethereum?: unknown
  addEventListener(type: string, listener: (event: Event) => void): void
  removeEventListener(type: string, listener: (event: Event) => void): void
  dispatchEvent(event: Event): boolean
}

/** Maximum number of announced wallets. A fake wallet could announce itself any number of times. */
const maxWallets = 20
const maxNameLength = 60
const maxIconLength = 100_000

/**
 * Asks all wallets to announce themselves (EIP-6963). If no wallet does, the injected wallet of the browser is used.
 * @param onChange called immediately and on each change, with all known wallets
 * @returns a function that ends the discovery
 */
export function discoverWallets(page: WalletWindow, onChange: (wallets: readonly Wallet[]) => void): () => void {
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

const heldOut = ({ ethereum }: WalletWindow): readonly Wallet[] =>
  isProvider(ethereum) ? [{ id: 'ethereum', name: '', icon: '', provider: ethereum }] : []

/** Returns the wallet that an announcement describes; `undefined` if the announcement is invalid. */
function walletOf(detail: unknown): Wallet | undefined {
  const { info, provider } = (detail ?? {}) as { readonly info?: unknown; readonly provider?: unknown }
  const { uuid, name, icon } = (info ?? {}) as Readonly<Record<string, unknown>>
  if (typeof uuid !== 'string' || typeof name !== 'string' || !isProvider(provider)) return undefined
  const isPicture = typeof icon === 'string' && icon.startsWith('data:image/') && icon.length <= maxIconLength
  return { id: uuid, name: name.slice(0, maxNameLength), icon: isPicture ? icon : '', provider }
}

const isProvider = (value: unknown): value is WalletProvider =>
  typeof (value as Partial<WalletProvider> | null | undefined)?.request === 'function'

/** The step of the sign-in for which the user is waiting. */
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

/** A message of the server that the wallet must sign. */
export interface Challenge {
  readonly challengeId: string
  readonly message: string
  readonly issuedAt: string
  readonly expiresAt: string
}

export interface WalletFlow<Session> {
  readonly wallet: WalletProvider
  /** Requests a message to sign from the server. */
  challenge(wallet: { chainType: 'evm'; address: string; chainId?: number }, signal: AbortSignal): Promise<Challenge>
  /** Sends the signature to the server. */
  login(proof: { challengeId: string; address: string; signature: string }, signal: AbortSignal): Promise<Session>
  onStep(step: WalletStep): void
  /** Returns the time in milliseconds. Only differences between two times are used. */
  now(): number
  /** Aborts the sign-in. Responses of the wallet that arrive later are ignored. */
  readonly signal: AbortSignal
}

/** Time limits in milliseconds: of wallet calls with a prompt for the user, and of wallet calls without a prompt. */
const patienceMs = 5 * 60_000
const promptMs = 10_000

/**
 * Wallet errors with a special meaning, by their code in EIP-1193. EIP-1474 defines the code of a request that is
 * already open.
 */
const problems: Readonly<Record<number, WalletProblem>> = {
  4001: 'rejected',
  4100: 'rejected',
  [-32002]: 'open-already',
}

/**
 * Proves the ownership of a wallet. If the message expires during the prompt, a new message is signed once.
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
    // The expiry is measured by elapsed time, because the clock of this host may be wrong.
    if (now() - askedAt >= Date.parse(expiresAt) - Date.parse(issuedAt)) continue
    if (typeof signature !== 'string') throw new WalletFailure('broken')
    onStep('opening')
    return login({ challengeId, address, signature }, signal)
  }
  throw new WalletFailure('late')
}

/** Calls a wallet with a time limit, because a wallet may never respond. The prompt of the wallet cannot be closed. */
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

/** Parses the chain id of a wallet, which is usually hexadecimal. If there is none, the server chooses the chain. */
function chainNumber(said: unknown): number | undefined {
  const number = typeof said === 'string' || typeof said === 'number' ? Number(said) : Number.NaN
  return Number.isSafeInteger(number) && number > 0 ? number : undefined
}

/** Converts the text to hexadecimal bytes, so that a wallet cannot interpret the text in another way. */
const hexOf = (text: string) =>
  `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
