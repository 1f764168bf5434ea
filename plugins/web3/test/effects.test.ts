import { assertKeyEffect, type KeyValues, manualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { definePlugin, key } from '@plinth/kernel'
import { OutgoingHttpError, type OutgoingRequest, outgoingHttp } from '@plinth/outgoing-http'
import t from 'tap'
import { startWeb3 } from './fixtures/product.ts'
import { adminChainsPath, unknownHash } from './fixtures/providers.ts'

/** Plugin in place of the HTTP client. It sends nothing and records the requests. */
function unreachable() {
  const requests: OutgoingRequest[] = []
  const outgoing = definePlugin({
    id: 'outgoing-http',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [outgoingHttp],
    config: {
      'platform.outgoing-http.allow-http': key.boolean({ title: 'Any value', default: false }),
      'platform.outgoing-http.allowed-hosts': key.stringList({ title: 'Any value', default: [] }),
    },
    setup: ({ provide }) =>
      provide(outgoingHttp, {
        check: () => {},
        reach: async () => {},
        stream: () => Promise.reject(new Error('not used')),
        request: async (request) => {
          requests.push(request)
          throw new OutgoingHttpError('connect-failed', 'unreachable', undefined)
        },
      }),
  })
  return { requests, outgoing }
}

t.test('requests to a provider obey the configuration of the plugin', async (t) => {
  /** Reads the data of transactions five times, with pauses of 10 s, from a chain whose provider is unreachable. */
  const observe = async (config: KeyValues) => {
    const at = await createDatabase('sqlite')
    t.teardown(() => at.drop())
    const { requests, outgoing } = unreachable()
    const clock = manualClock()
    const { call, adminToken, chains } = await startWeb3(t, at, { clock, outgoing, config })
    const providers = [{ id: 'one', url: 'http://127.0.0.1:8545/' }]
    const chain = { name: 'local', chainId: 31337, requiredConfirmations: 2, providers }
    t.hasStrict(await call('POST', adminChainsPath, await adminToken(), chain), { code: '200' })
    requests.length = 0
    for (let count = 0; count < 5; count++) {
      await chains.facts('local', { transactionHash: unknownHash })
      await clock.advance(10_000)
    }
    const [first] = requests
    return {
      count: requests.length,
      deadlineMs: first?.deadlineMs,
      maxResponseBytes: first?.maxResponseBytes,
      isBatch: String(first?.body).startsWith('['),
    }
  }
  const [deadline] = await assertKeyEffect(t, 'platform.web3.rpc.deadline', { changed: '2s', observe })
  t.match(deadline, { before: { deadlineMs: 5000 }, after: { deadlineMs: 2000 } })
  const [size] = await assertKeyEffect(t, 'platform.web3.rpc.max-response-size', { changed: '16KiB', observe })
  t.match(size, { before: { maxResponseBytes: 8 * 1024 ** 2 }, after: { maxResponseBytes: 16 * 1024 } })
  const [batch] = await assertKeyEffect(t, 'platform.web3.rpc.batch-size', { changed: 1, observe })
  t.match(batch, { before: { isBatch: true }, after: { isBatch: false } })
  await assertKeyEffect(t, 'platform.web3.rpc.breaker.failures', { changed: 1, observe })
  await assertKeyEffect(t, 'platform.web3.rpc.breaker.pause', { changed: '10ms', observe })
})

t.test('addresses of providers are encrypted with the key', async (t) => {
  const secretKey = 'platform.web3.secret-key'
  const [one = '', other = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const [found] = await assertKeyEffect(t, 'platform.web3.secret-key', {
    compared: one,
    changed: other,
    observe: async (config) => {
      const at = await createDatabase('sqlite')
      t.teardown(() => at.drop())
      const { requests, outgoing } = unreachable()
      const first = await startWeb3(t, at, { outgoing, config: { [secretKey]: one } })
      const providers = [{ id: 'one', url: 'http://127.0.0.1:8545/' }]
      const chain = { name: 'local', chainId: 31337, requiredConfirmations: 2, providers }
      t.hasStrict(await first.call('POST', adminChainsPath, await first.adminToken(), chain), { code: '200' })
      await first.running.stop('another instance takes over')
      const second = await startWeb3(t, at, { outgoing, config })
      requests.length = 0
      await second.chains.facts('local', { transactionHash: unknownHash })
      return requests[0]?.url === undefined ? 'not read' : String(requests[0].url)
    },
  })
  t.match(found, { before: 'http://127.0.0.1:8545/', after: 'not read' })
})
