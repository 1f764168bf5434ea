/** Tests how the page finds and calls wallets, without a browser. */
import { Buffer } from 'node:buffer'
import t from 'tap'
import {
  type Challenge,
  discoverWallets,
  signInWithWallet,
  type Wallet,
  type WalletFlow,
  type WalletProvider,
} from '../web/admin/wallet/wallet-flow.ts'

const provider: WalletProvider = { request: async () => null }

/** Returns a fake window with the objects that wallets add. */
const pageWith = (ethereum?: unknown) => Object.assign(new EventTarget(), { ethereum })

const announce = (page: EventTarget, info: unknown, held: unknown = provider) =>
  page.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info, provider: held } }))

t.test('wallets that announce themselves are found on request and later', async (t) => {
  const page = pageWith(provider)
  const names = (wallets: readonly Wallet[]) => wallets.map(({ name }) => name)
  const seen: string[][] = []
  const icon = 'data:image/svg+xml,<svg/>'
  const onAsked = () => announce(page, { uuid: 'a', name: 'Amber', icon })
  page.addEventListener('eip6963:requestProvider', onAsked)
  let last: readonly Wallet[] = []
  const stop = discoverWallets(page, (wallets) => {
    last = wallets
    seen.push(names(wallets))
  })
  announce(page, { uuid: 'b', name: 'Birch', icon: 'https://elsewhere.test/pixel.png' })
  announce(page, { uuid: 'a', name: 'Amber 2', icon })
  t.strictSame(seen, [['Amber'], ['Amber', 'Birch'], ['Amber 2', 'Birch']], 'the one that is held out is one of them')
  t.strictSame(
    last.map((wallet) => wallet.icon),
    [icon, ''],
    'nothing is loaded from elsewhere',
  )
  for (const info of [undefined, null, 7, {}, { uuid: 'c' }, { name: 'C' }, { uuid: 1, name: 'C' }])
    announce(page, info)
  for (const held of [null, {}, { request: 'no' }]) announce(page, { uuid: 'd', name: 'D' }, held)
  page.dispatchEvent(new CustomEvent('eip6963:announceProvider'))
  t.equal(seen.length, 3, 'what is no wallet is not shown')
  for (let number = 0; number < 100; number++) announce(page, { uuid: `many-${number}`, name: 'x'.repeat(1_000) })
  t.equal(last.length, 20)
  t.equal(last.at(-1)?.name.length, 60)
  stop()
  announce(page, { uuid: 'a', name: 'Amber 3', icon })
  t.equal(last[0]?.name, 'Amber 2', 'nobody listens any more')
})

t.test('if no wallet announces itself, window.ethereum is used', async (t) => {
  for (const [held, count] of [
    [provider, 1],
    [undefined, 0],
    [{}, 0],
    [null, 0],
  ] as const) {
    let last: readonly Wallet[] | undefined
    discoverWallets(pageWith(held), (wallets) => {
      last = wallets
    })()
    t.equal(last?.length, count)
  }
})

const challenge: Challenge = {
  challengeId: 'c-1',
  message: '钱包 sign in',
  issuedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2026-01-01T00:00:10.000Z',
}

/** Runs the sign-in with a wallet. The test defines the responses of the wallet. Returns all calls in order. */
async function run(
  responses: Readonly<Record<string, (asked: readonly unknown[]) => unknown>>,
  change: Partial<WalletFlow<string>> = {},
) {
  const asked: unknown[] = []
  const flow: WalletFlow<string> = {
    wallet: {
      request: async ({ method, params = [] }) => {
        asked.push([method, ...params])
        return responses[method]?.(params)
      },
    },
    challenge: async (body) => {
      asked.push(['challenge', body])
      return challenge
    },
    login: async (proof) => {
      asked.push(['login', proof])
      return 'session'
    },
    onStep: () => {},
    now: () => 0,
    signal: new AbortController().signal,
    ...change,
  }
  const outcome = await signInWithWallet(flow).catch((failure: { fault?: string; code?: number }) => [
    failure.fault ?? failure,
    failure.code,
  ])
  return { asked, outcome }
}
const willing = {
  eth_requestAccounts: () => ['0xAnna', '0xOther'],
  eth_chainId: () => '0x89' as unknown,
  personal_sign: () => '0xsigned',
}

t.test('the first account signs the bytes of the message on the chain of the wallet', async (t) => {
  const { asked, outcome } = await run(willing)
  t.equal(outcome, 'session')
  t.strictSame(asked, [
    ['eth_requestAccounts'],
    ['eth_chainId'],
    ['challenge', { chainType: 'evm', address: '0xAnna', chainId: 137 }],
    ['personal_sign', `0x${Buffer.from(challenge.message).toString('hex')}`, '0xAnna'],
    ['login', { challengeId: 'c-1', address: '0xAnna', signature: '0xsigned' }],
  ])
  for (const [said, chainId] of [
    ['1', 1],
    [10, 10],
    ['0x0', undefined],
    ['main', undefined],
    [null, undefined],
    [`0x${'f'.repeat(64)}`, undefined],
  ] as const) {
    const { asked } = await run({ ...willing, eth_chainId: () => said })
    t.strictSame(asked[2], ['challenge', { chainType: 'evm', address: '0xAnna', ...(chainId ? { chainId } : {}) }])
  }
})

t.test('the errors of a wallet are distinguished', async (t) => {
  const fail = (error: unknown) => () => {
    throw error
  }
  for (const [responses, expected] of [
    [{ eth_requestAccounts: fail({ code: 4001 }) }, ['rejected', 4001]],
    [{ eth_requestAccounts: fail({ code: 4100 }) }, ['rejected', 4100]],
    [{ eth_requestAccounts: fail({ code: -32002 }) }, ['open-already', -32002]],
    [{ eth_requestAccounts: () => [] }, ['no-account', undefined]],
    [{ eth_requestAccounts: () => null }, ['no-account', undefined]],
    [{ eth_chainId: fail({ code: 4900 }) }, ['broken', 4900]],
    [{ personal_sign: fail(new Error('no code')) }, ['broken', undefined]],
    [{ personal_sign: fail(null) }, ['broken', undefined]],
    [{ personal_sign: fail({ code: '4001' }) }, ['rejected', 4001]],
    [{ personal_sign: () => 7 }, ['broken', undefined]],
  ] as const) {
    const { outcome, asked } = await run({ ...willing, ...responses })
    t.strictSame(outcome, expected)
    t.notOk(asked.some((one) => (one as readonly unknown[])[0] === 'login'))
  }
})

t.test(
  'a message that expired in the wallet is replaced once, and a cancelled sign-in waits for nothing',
  async (t) => {
    let now = 0
    const late = (times: number) => ({
      ...willing,
      personal_sign: () => {
        if (times-- > 0) now += 10_000
        return '0xsigned'
      },
    })
    const steps: string[] = []
    const once = await run(late(1), { now: () => now, onStep: (step) => steps.push(step) })
    t.equal(once.outcome, 'session')
    t.strictSame(steps, ['connecting', 'preparing', 'signing', 'signing-again', 'opening'])
    const twice = await run(late(2), { now: () => now })
    t.strictSame(twice.outcome, ['late', undefined])
    t.equal(twice.asked.filter((one) => (one as readonly unknown[])[0] === 'challenge').length, 2)

    const leaving = new AbortController()
    const never = {
      ...willing,
      eth_requestAccounts: () => {
        leaving.abort('left')
        return new Promise(() => {})
      },
    }
    t.strictSame((await run(never, { signal: leaving.signal })).outcome, ['left', undefined])
    t.strictSame((await run(willing, { signal: leaving.signal })).asked, [], 'no wallet is asked for nothing')
  },
)
