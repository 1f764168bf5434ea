/** Tests a provider that forges a receipt. If two providers must agree, the forged receipt does not settle an order. */

import type { ManualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { deployToken, type FaultProxy, skipAnvil, startAnvil, startFaultProxy } from '@plinth/dev/testing/web3'
import idempotency from '@plinth/idempotency'
import { systemClock } from '@plinth/kernel'
import outgoingHttp from '@plinth/outgoing-http'
import rateLimit from '@plinth/rate-limit'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStore from '@plinth/shared-store'
import systemConfig from '@plinth/system-config'
import web3 from '@plinth/web3'
import t, { type Test } from 'tap'
import { createOrder } from './fixtures/doubles.ts'
import { adminWeb3Path, startSettlement } from './fixtures/product.ts'

const shop = `0x${'a'.repeat(40)}` as const
const price = 1_000n

/** Starts a product with an order that is not paid, because its transaction failed. */
async function start(t: Test, agreement: number) {
  const chain = await startAnvil()
  const [first, second] = [await startFaultProxy(chain.url), await startFaultProxy(chain.url)]
  const at = await createDatabase('sqlite')
  t.teardown(async () => {
    await Promise.all([first.close(), second.close()])
    await chain.stop()
    await at.drop()
  })
  const { call, db } = await startSettlement(t, at, {
    // A real clock, because the deadlines of requests to a node use real time.
    clock: systemClock as ManualClock,
    chains: [web3, outgoingHttp, systemConfig, idempotency, sharedStore, rateLimit, sharedWindow],
    config: {
      'platform.rate-limit.default-store': 'shared-window',
      'platform.rate-limit.store-deadline': '1m',
      'platform.system-config.master-key-file': `${at.directory}/master.key`,
      'platform.outgoing-http.allow-http': true,
      'platform.outgoing-http.allowed-hosts': [first, second].map(({ port }) => `127.0.0.1:${port}`),
      'platform.web3.rpc.deadline': '1m',
      'platform.web3.rpc.agreement': agreement,
    },
  })
  const created = await call('POST', '/api/v1/admin/web3/chains', {
    name: 'local',
    chainId: chain.chainId,
    requiredConfirmations: 1,
    providers: [first, second].map(({ url }, at) => ({ id: `node-${at}`, url })),
  })
  t.equal(created.code, '200')
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  const failed = await token.transfer(buyer, shop, price, { gas: 100_000 })
  const terms = { chainId: chain.chainId, tokenContract: token.address, receiver: shop, amountRaw: String(price) }
  const order = { outTradeNo: 'order-1', ...terms, requiredConfirmations: null, transactionHash: failed }
  await createOrder(db, order)
  // The log of a real transfer is put into the receipt of the failed transaction.
  await token.mint(buyer, price)
  const paid = await token.transfer(buyer, shop, price)
  const { logs } = await chain.rpc<{ logs: object[] }>('eth_getTransactionReceipt', [paid])
  const forge = (proxy: FaultProxy) => {
    proxy.rewrite = ({ method, params }, result) => {
      if (method !== 'eth_getTransactionReceipt' || params[0] !== failed) return result
      const { blockHash, blockNumber } = result as { blockHash: string; blockNumber: string }
      const moved = logs.map((log) => ({ ...log, blockHash, blockNumber, transactionHash: failed }))
      return { ...(result as object), status: '0x1', logs: moved }
    }
  }
  const plan = async () =>
    (await call('POST', `${adminWeb3Path}/payment-confirmations`, { outTradeNo: 'order-1' })).data
  return { first, second, forge, plan }
}

t.test(
  'if two providers must agree, a receipt that the first one forged pays no order',
  { skip: skipAnvil, timeout: 600_000 },
  async (t) => {
    const { first, second, forge, plan } = await start(t, 2)
    t.same((await plan()).reasons, ['chain-transaction-failed'])
    forge(first)
    const forged = await plan()
    t.strictSame([forged.state, forged.reasons], ['failed', ['rpc-query-failed']])
    first.rewrite = undefined
    forge(second)
    t.equal((await plan()).state, 'failed', 'nor one of the second')
  },
)

t.test('without agreement a single provider is trusted', { skip: skipAnvil, timeout: 600_000 }, async (t) => {
  const { first, forge, plan } = await start(t, 1)
  forge(first)
  t.not((await plan()).state, 'failed')
  t.strictSame((await plan()).reasons, [])
})
