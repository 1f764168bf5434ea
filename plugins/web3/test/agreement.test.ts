/** Tests that several providers must agree about a transaction before the product uses it. */

import { assertKeyEffect } from '@plinth/dev/testing'
import { deployToken, type FaultProxy } from '@plinth/dev/testing/web3'
import { systemClock } from '@plinth/kernel'
import { outgoingHttp } from '@plinth/outgoing-http'
import { configCentre } from '@plinth/system-config'
import { pino } from 'pino'
import { ChainFactCollector } from '../src/chains/chain-facts.ts'
import { system } from './fixtures/product.ts'
import {
  expectFailureReason,
  expectObservation,
  onChain,
  shopAddress,
  startProviders,
  unknownHash,
} from './fixtures/providers.ts'

const two = { 'platform.web3.rpc.agreement': 2, 'platform.web3.rpc.breaker.failures': 100 }

/** Makes a proxy report a failed transaction as a successful transfer. */
function forge(proxy: FaultProxy, hash: string, example: object): void {
  proxy.rewrite = ({ method, params }, result) =>
    method === 'eth_getTransactionReceipt' && params[0] === hash ? { ...(result as object), ...example } : result
}

onChain('a receipt that one provider forged is not used if two must agree', async (t, db) => {
  const product = await startProviders(t, db, { config: two })
  const { chains, chain, create, provider, first, second, third, call, token: admin } = product
  const { data } = await create('local', { providers: [provider('first', first), provider('second', second)] })
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const hash = await token.transfer(buyer, shopAddress, 10n ** 9n, { gas: 100_000 })
  const factsOf = () => chains.facts('local', { transactionHash: hash })
  t.hasStrict(await factsOf(), { providerId: 'first', receipt: { status: 'reverted' } })
  forge(first, hash, { status: '0x1' })
  t.equal(expectFailureReason(await factsOf()), 'rpc-query-failed: first unconfirmed, second unconfirmed')
  const providers = [{ id: 'first' }, { id: 'second' }, provider('third', third)]
  t.equal((await call('PUT', `/api/v1/admin/web3/chains/${data.id}`, admin, { providers })).code, '200')
  t.hasStrict(await factsOf(), { providerId: 'second', receipt: { status: 'reverted' } }, 'the other two agree')
  second.fault = 'reset'
  t.equal(
    expectFailureReason(await factsOf()),
    'rpc-query-failed: first unconfirmed, second unreachable, third unconfirmed',
  )
  forge(third, hash, { status: '0x1' })
  t.hasStrict(await factsOf(), { receipt: { status: 'success' } }, 'two that lie alike are believed')
})

onChain('data on which several providers agree has the lowest of their block heights', async (t, db) => {
  const { chains, chain, create, provider, first, second } = await startProviders(t, db, { config: two })
  const providers = [provider('first', first), provider('second', second)]
  await create('local', { providers, finality: 'safe', maxHeadLagBlocks: 1000 })
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const hash = await token.transfer(buyer, shopAddress, 1n)
  await chain.mine(5)
  const real = await chain.head()
  first.rewrite = ({ method, params }, result) => {
    if (method === 'eth_blockNumber') return `0x${(real + 30).toString(16)}`
    if (method === 'eth_getBlockByNumber' && params[0] === 'safe') {
      return { ...(result as object), number: `0x${(real + 30).toString(16)}` }
    }
    return result
  }
  const facts = expectObservation(await chains.facts('local', { transactionHash: hash }))
  t.match(facts, { providerId: 'first', head: real, safeNumber: real - 1 })
  t.match(await chains.facts('local', { transactionHash: unknownHash }), { receipt: null, head: real })
})

onChain('a chain with too few providers for the agreement returns no data', async (t, db) => {
  const { chains, create, provider, first, running } = await startProviders(t, db)
  await create('local', { providers: [provider('first', first)] })
  const [facts] = await assertKeyEffect(t, 'platform.web3.rpc.agreement', {
    changed: 2,
    async observe(values, key) {
      const value = values[key]
      if (value !== undefined)
        await running.service(configCentre).save([{ key, action: 'set', value }], { actor: system })
      return expectFailureReason(await chains.facts('local', { transactionHash: unknownHash }))
    },
  })
  t.match(facts, { before: 'facts', after: 'rpc-query-failed: first unconfirmed' })
})

onChain('stored providers with the same address count as one provider', async (t, db) => {
  const { chains, chain, create, provider, first, second, running } = await startProviders(t, db)
  await create('local', { providers: [provider('first', first)] })
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const hash = await token.transfer(buyer, shopAddress, 5n)
  const stored = await chains.get('local')
  if (stored === undefined) throw new Error('the chain is missing')
  const start = (...urls: readonly string[]) => {
    const providers = urls.map((url, at) => ({ id: `node-${at}`, key: `${at}`, url: async () => url }))
    const source = { list: async () => [], get: async () => stored, open: async () => ({ ...stored, providers }) }
    const breaker = { failures: 100, pauseMs: 1000 }
    const settings = () => ({ deadlineMs: 60_000, batchSize: 10, maxResponseBytes: 100_000, agreement: 2, breaker })
    const http = running.service(outgoingHttp)
    return new ChainFactCollector({ source, http, clock: systemClock, log: pino({ level: 'silent' }), settings })
  }
  const twin = `${first.url.replace('http:', 'HTTP:')}#twin`
  const alone = start(first.url, twin)
  t.equal(
    expectFailureReason(await alone.facts('local', { transactionHash: hash })),
    'rpc-query-failed: node-0 unconfirmed',
  )
  const question = { to: token.address, data: '0x313ce567', gas: 100_000 } as const
  t.hasStrict(await alone.call('local', question), { error: 'rpc-query-failed' })
  const both = start(first.url, twin, second.url)
  t.hasStrict(await both.facts('local', { transactionHash: hash }), { receipt: { status: 'success' } })
  t.match(await both.call('local', question), { providers: 2 })
})
