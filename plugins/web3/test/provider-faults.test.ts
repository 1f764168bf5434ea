/**
 * Tests faulty responses about one transaction, and impossible heights. Such responses must not disable a provider that
 * otherwise works.
 */
import { manualClock } from '@plinth/dev/testing'
import { deployToken, type FaultProxy } from '@plinth/dev/testing/web3'
import { walletVerifier } from '@plinth/web3'
import {
  adminChainsPath,
  expectFailureReason,
  expectObservation,
  onChain,
  shopAddress,
  startProviders,
  unknownHash,
} from './fixtures/providers.ts'

/** With these settings the circuit breaker opens on the first failure and stays open for the whole test. */
const strict = { 'platform.web3.rpc.breaker.failures': 1, 'platform.web3.rpc.breaker.pause': '10m' }

const withoutBlock = { blockNumber: null, blockHash: null }
/** Faulty receipts of one hash. A caller who chooses the hash can cause them. */
const receiptProblems: Readonly<
  Record<string, { readonly expected: string; apply(proxy: FaultProxy, hash: string): void }>
> = {
  'a JSON-RPC error': { expected: 'rpc-error', apply: (proxy) => Object.assign(proxy, { fault: 'receipt-refused' }) },
  'no answer': { expected: 'timeout', apply: (proxy) => Object.assign(proxy, { fault: 'receipt-hang' }) },
  'half a block': {
    expected: 'result-invalid',
    apply: (proxy, hash) => rewriteReceipt(proxy, hash, { blockNumber: null }),
  },
  'a block that its logs do not name': {
    expected: 'result-invalid',
    apply: (proxy, hash) => rewriteReceipt(proxy, hash, { blockHash: `0x${'cd'.repeat(32)}` }),
  },
  'more than is read': {
    expected: 'answer-too-large',
    apply: (proxy, hash) => rewriteReceipt(proxy, hash, { padding: 'x'.repeat(300_000) }),
  },
  'another transaction': {
    expected: 'result-invalid',
    apply: (proxy, hash) => rewriteReceipt(proxy, hash, { transactionHash: unknownHash }),
  },
}

function rewriteReceipt(proxy: FaultProxy, hash: string, change: object): void {
  proxy.rewrite = ({ method, params }, result) =>
    method === 'eth_getTransactionReceipt' && params[0] === hash ? { ...(result as object), ...change } : result
}

onChain('an error for one hash never disables its provider for others', async (t, db) => {
  const config = { ...strict, 'platform.web3.rpc.deadline': '4s', 'platform.web3.rpc.max-response-size': '256KiB' }
  const { chains, chain, create, provider, first, call, token: adminToken } = await startProviders(t, db, { config })
  const { data } = await create('local', { providers: [provider('first', first)] })
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const strange = await token.transfer(buyer, shopAddress, 1n)
  const paid = await token.transfer(buyer, shopAddress, 2n)
  const factsOf = (transactionHash: string) => chains.facts('local', { transactionHash })
  for (const [name, { expected, apply }] of Object.entries(receiptProblems)) {
    apply(first, strange)
    t.equal(expectFailureReason(await factsOf(strange)), `rpc-query-failed: first ${expected}`, name)
    Object.assign(first, { fault: undefined, rewrite: undefined })
    t.hasStrict(await factsOf(paid), { receipt: { transactionHash: paid, status: 'success' } }, `after ${name}`)
    // Closes a circuit breaker that this case may have opened, so that the next case is not affected.
    await call('POST', `${adminChainsPath}/${data.id}/verify`, adminToken)
  }
})

onChain(
  'a receipt whose transaction the provider does not know, or puts into another block, is not used',
  async (t, db) => {
    const { chains, chain, create, provider, first } = await startProviders(t, db)
    await create('local', { providers: [provider('first', first)] })
    const [, buyer = '0x'] = chain.accounts
    const token = await deployToken(chain)
    await token.mint(buyer, 1000n)
    const hash = await token.transfer(buyer, shopAddress, 1n)
    const said = async (transactionOf: (transaction: object) => object | null) => {
      first.rewrite = ({ method, params }, result) =>
        method === 'eth_getTransactionByHash' && params[0] === hash ? transactionOf(result as object) : result
      return expectFailureReason(await chains.facts('local', { transactionHash: hash }))
    }
    t.equal(await said(() => null), 'rpc-query-failed: first inconsistent')
    t.equal(
      await said((one) => ({ ...one, blockHash: `0x${'cd'.repeat(32)}` })),
      'rpc-query-failed: first inconsistent',
    )
    t.equal(await said((one) => one), 'facts')
  },
)

onChain('a contract that does not respond never disables its provider for payments', async (t, db) => {
  const config = { ...strict, 'platform.web3.rpc.deadline': '4s', 'platform.web3.contract-wallets.chain': 'local' }
  const { chains, create, provider, first, running, chain } = await startProviders(t, db, { config })
  await create('local', { providers: [provider('first', first)] })
  first.fault = 'contract-hang'
  const signed = { address: shopAddress, message: 'hello', signature: `0x${'11'.repeat(65)}` }
  const result = await running.service(walletVerifier).verifyPersonalOnChain(chain.chainId, signed)
  t.equal(result.reason, 'contract-unanswered')
  first.fault = undefined
  t.equal(expectFailureReason(await chains.facts('local', { transactionHash: unknownHash })), 'facts')
})

onChain('a pending transaction whose receipt has no block yet is a transaction without a receipt', async (t, db) => {
  const { chains, chain, create, provider, first } = await startProviders(t, db, { config: strict })
  await create('local', { providers: [provider('first', first)] })
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const hash = await token.transfer(buyer, shopAddress, 1n)
  first.rewrite = ({ method }, result) =>
    method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash'
      ? { ...(result as object), ...withoutBlock, logs: [] }
      : result
  t.match(await chains.facts('local', { transactionHash: hash }), {
    transaction: { hash, blockNumber: null },
    receipt: null,
    canonicalBlockHash: null,
    blockTime: null,
  })
})

/** Makes a proxy report another newest block. */
function claimHead(proxy: FaultProxy, head: (real: number) => number): void {
  proxy.rewrite = ({ method }, result) =>
    method === 'eth_blockNumber' ? `0x${head(Number(result)).toString(16)}` : result
}

onChain('an impossible block height is an error of its provider, and the others stay usable', async (t, db) => {
  const { chains, chain, create, provider, first, second } = await startProviders(t, db, { config: strict })
  await create('local', { providers: [provider('first', first), provider('second', second)], maxHeadLagBlocks: 20 })
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const hash = await token.transfer(buyer, shopAddress, 1n)
  const { blockNumber } = expectObservation(await chains.facts('local', { transactionHash: hash })).receipt ?? {
    blockNumber: 0,
  }
  const factsOf = () => chains.facts('local', { transactionHash: hash })
  claimHead(first, () => 2 ** 40)
  t.match(await factsOf(), { providerId: 'second', head: blockNumber }, 'one confirmation is one confirmation')
  claimHead(second, () => 2 ** 40)
  t.equal(expectFailureReason(await factsOf()), 'rpc-query-failed: first circuit-open, second head-implausible')
})

onChain('a height beyond that of the others and the elapsed time is an error of its provider', async (t, db) => {
  const { chains, chain, create, provider, first, second, call, token } = await startProviders(t, db)
  const providers = [provider('first', first), provider('second', second)]
  const { data } = await create('local', { providers, maxHeadLagBlocks: 20 })
  await chain.mine(300, 1)
  const verify = async () =>
    (await call('POST', `${adminChainsPath}/${data.id}/verify`, token)).data.map(
      ({ providerId, fault }: { providerId: string; fault: string | null }) => `${providerId} ${fault}`,
    )
  const factsOf = () => chains.facts('local', { transactionHash: unknownHash })
  // The blocks of this chain are a second apart, and the newest block is not older than the current time.
  for (const lead of [1000, 100_000]) {
    first.rewrite = undefined
    t.strictSame(await verify(), ['first null', 'second null'])
    claimHead(first, (real) => real + lead)
    t.match(await factsOf(), { providerId: 'second', head: 300 }, `a lead of ${lead} blocks`)
    t.strictSame((await verify())[1], 'second null', 'the good one is not stale')
    first.fault = 'reset'
    t.match(await factsOf(), { providerId: 'second', head: 300 }, 'nor when the other one is gone')
    first.fault = undefined
  }
  first.rewrite = undefined
  t.strictSame(await verify(), ['first null', 'second null'])
  claimHead(first, (real) => real + 15)
  t.match(await factsOf(), { providerId: 'first', head: 315 }, 'a lead within the configured lag may be true')
})

onChain('a height is possible if the chain can have reached it since its newest known block', async (t, db) => {
  const clock = manualClock()
  const { chain, create, provider, first, second, call, token } = await startProviders(t, db, { clock })
  const providers = [provider('first', first), provider('second', second)]
  const { data } = await create('local', { providers, maxHeadLagBlocks: 20 })
  const faultOfSecond = async (): Promise<string | null> =>
    (await call('POST', `${adminChainsPath}/${data.id}/verify`, token)).data[1].fault
  /** Sets the clock of the host relative to the newest block, and returns the fault of a provider that leads. */
  const faultOfLead = async (blocks: number, secondsAfterBlock: number) => {
    second.rewrite = undefined
    t.equal(await faultOfSecond(), null)
    const { timestamp } = await chain.rpc<{ timestamp: string }>('eth_getBlockByNumber', ['latest', false])
    clock.shiftWallClock((Number(timestamp) + secondsAfterBlock) * 1000 - clock.now())
    claimHead(second, (real) => real + blocks)
    return faultOfSecond()
  }
  await chain.mine(300, 1)
  t.equal(await faultOfLead(25, -5), null, 'the clock of the host may be a few seconds slow')
  t.equal(await faultOfLead(25, -20), 'head-implausible', 'but not more')
  await chain.mine(1, 600)
  t.equal(await faultOfLead(25, 20), null, 'one slow block hardly changes the average time per block')
})

onChain('a provider that is behind the chain is stale, by the time of its own newest block', async (t, db) => {
  const { chains, chain, create, provider, first, second, call, token } = await startProviders(t, db)
  const providers = [provider('first', first), provider('second', second)]
  const { data } = await create('local', { providers, maxHeadLagBlocks: 20 })
  await chain.mine(300, 1)
  first.fault = 'stale-head'
  const checked = await call('POST', `${adminChainsPath}/${data.id}/verify`, token)
  t.match(checked.data[1], { providerId: 'second', fault: null, head: 300 })
  t.match(await chains.facts('local', { transactionHash: unknownHash }), { providerId: 'second', head: 300 })
})
