/** Tests how often the sign-in page asks for passkeys while it is open, without a browser. */
import t from 'tap'
import { loadBrowserModule } from './fixtures/browser-module.ts'

/** The answer of the browser to a prompt: the name of an error, or a passkey. */
type Reaction = 'expires' | 'NotAllowedError' | 'passkey'

const reactions: Reaction[] = []
let expire = new AbortController()
const bytes = new Uint8Array(1).buffer
const passkey = {
  id: 'AA',
  rawId: bytes,
  type: 'public-key',
  response: { authenticatorData: bytes, clientDataJSON: bytes, signature: bytes },
  getClientExtensionResults: () => ({}),
}
const credentials = {
  async get({ signal }: { readonly signal: AbortSignal }) {
    const reaction = reactions.shift()
    if (reaction === 'passkey') return passkey
    if (reaction !== 'expires') throw new DOMException('', reaction ?? 'NotAllowedError')
    queueMicrotask(() => expire.abort())
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new DOMException('', 'AbortError')))
    })
  },
}
const PublicKeyCredential = Object.assign(() => undefined, { isConditionalMediationAvailable: async () => true })
Object.assign(globalThis, {
  PublicKeyCredential,
  window: globalThis,
  location: { hostname: 'localhost' },
  document: { querySelectorAll: () => [{}] },
})
Object.defineProperty(globalThis, 'navigator', { value: { credentials } })
const limits: number[] = []
// The end of a challenge is decided by the test instead of the time.
AbortSignal.timeout = (ms) => {
  limits.push(ms)
  expire = new AbortController()
  return expire.signal
}

const { suggestPasskeys } = await loadBrowserModule('factors/passkeys.ts')

/** Opens the page with these reactions of the browser. The server rejects the first passkeys. */
async function opened(next: readonly Reaction[], { rejected = 0 } = {}) {
  reactions.splice(0, reactions.length, ...next)
  const calls = { options: 0, sent: 0 }
  const errors: string[] = []
  const api = {
    async call() {
      calls.options++
      return { options: { challenge: 'AA', timeout: 300_000 }, challengeId: String(calls.options) }
    },
  }
  const send = async ({ challengeId }: { readonly challengeId: string }) => {
    if (calls.sent++ < rejected) throw new Error(`rejected ${challengeId}`)
    return `signed in ${challengeId}`
  }
  const use = { options: {}, input: {}, send }
  const onRejected = ({ message }: Error) => errors.push(message)
  const result = await suggestPasskeys(api, use, onRejected, new AbortController().signal)
  return { result, ...calls, errors }
}

t.test('a challenge is replaced when it expires, and after a rejected passkey', async (t) => {
  const times = (count: number, reaction: Reaction) => Array.from({ length: count }, () => reaction)
  const cases = {
    'used at once': await opened(['passkey']),
    'used after two expired challenges': await opened(['expires', 'expires', 'passkey']),
    'used after a rejected passkey': await opened(['passkey', 'expires', 'passkey'], { rejected: 1 }),
    'not used': await opened(['NotAllowedError', 'passkey']),
    'rejected again and again': await opened(times(9, 'passkey'), { rejected: 9 }),
  }
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => `rejected ${index + 1}`)
  t.strictSame(cases, {
    'used at once': { result: 'signed in 1', options: 1, sent: 1, errors: [] },
    'used after two expired challenges': { result: 'signed in 3', options: 3, sent: 1, errors: [] },
    'used after a rejected passkey': { result: 'signed in 3', options: 3, sent: 2, errors: numbered(1) },
    'not used': { result: undefined, options: 1, sent: 0, errors: [] },
    'rejected again and again': { result: undefined, options: 5, sent: 5, errors: numbered(5) },
  })
  t.strictSame(new Set(limits), new Set([285_000]), 'a prompt ends before its challenge')
})

t.test('the page does not ask where passkeys do not work', async (t) => {
  PublicKeyCredential.isConditionalMediationAvailable = async () => false
  t.strictSame(await opened(['passkey']), { result: undefined, options: 0, sent: 0, errors: [] })
})
