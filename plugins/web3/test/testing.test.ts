import { assertMembers } from '@plinth/dev/testing'
import {
  callData,
  deploy,
  deployToken,
  type ProviderFault,
  skipAnvil,
  startAnvil,
  startFaultProxy,
} from '@plinth/dev/testing/web3'
import t from 'tap'
import { privateKeyToAccount } from 'viem/accounts'

interface Receipt {
  readonly status: string
  readonly blockNumber: string
  readonly blockHash: string
  readonly logs: readonly { readonly topics: readonly string[]; readonly logIndex: string }[]
}

const skip = skipAnvil
const address = (digit: string) => `0x${digit.repeat(40)}` as const
const shop = address('a')

t.test('a chain with tokens: transfers, two at once, a failing one, one without topics', { skip }, async (t) => {
  const chain = await startAnvil({ chainId: 1337 })
  t.teardown(() => chain.stop())
  t.equal(await chain.rpc('eth_chainId'), '0x539')
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const receiptOf = async (hash: string) => chain.rpc<Receipt>('eth_getTransactionReceipt', [hash])

  const paid = await receiptOf(await token.transfer(buyer, shop, 300n))
  t.match(paid, { status: /^0x1$/, logs: { length: 1 } })
  t.equal(paid.logs[0]?.topics.length, 3)
  const twice = await receiptOf(await token.transferTwice(buyer, shop, 100n, address('b'), 50n))
  t.equal(twice.logs.length, 2)
  const failed = await receiptOf(await token.transfer(buyer, shop, 10_000n, { gas: 100_000 }))
  t.match(failed, { status: /^0x0$/, logs: { length: 0 } })
  t.equal(await token.balanceOf(shop), 400n)

  const odd = await deploy(chain, 'OddToken')
  const strange = await receiptOf(await chain.send({ from: buyer, to: odd, data: token.transferData(shop, 5n) }))
  t.equal(strange.logs[0]?.topics.length, 1)
  t.equal(strange.logs[0]?.topics[0], paid.logs[0]?.topics[0])
  const art = await deploy(chain, 'Collectible')
  const given = await chain.send({ from: buyer, to: art, data: callData('give(address,uint256)', shop, 5n) })
  t.equal((await receiptOf(given)).logs[0]?.topics.length, 4)
})

t.test('removed blocks, and a transaction that appears again in another block', { skip }, async (t) => {
  const chain = await startAnvil()
  t.teardown(() => chain.stop())
  const [sender = '0x', buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const receiptOf = async (hash: string) => chain.rpc<Receipt | null>('eth_getTransactionReceipt', [hash])

  const before = await chain.snapshot()
  const dropped = await token.transfer(buyer, shop, 1n)
  await chain.mine(2)
  t.ok(await receiptOf(dropped))
  await chain.revert(before)
  await chain.mine(5)
  t.equal(await receiptOf(dropped), null)

  const gone = await token.transfer(buyer, shop, 2n)
  const head = await chain.head()
  await chain.reorganise(1)
  t.equal(await chain.head(), head)
  t.equal(await receiptOf(gone), null)

  const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  await chain.send({ from: sender, to: account.address, value: 10n ** 18n })
  await token.mint(account.address, 10n)
  const raw = await account.signTransaction({
    chainId: chain.chainId,
    type: 'eip1559',
    nonce: 0,
    to: token.address,
    data: token.transferData(shop, 3n),
    gas: 100_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
  })
  const moved = await chain.sendRaw(raw)
  await chain.mine(1)
  const first = await receiptOf(moved)
  await chain.reorganise(2, [[raw, 1]])
  const second = await receiptOf(moved)
  t.ok(first !== null && second !== null && first.blockHash !== second.blockHash)
})

t.test('the proxy forwards, and injects the configured faults', { skip }, async (t) => {
  const chain = await startAnvil()
  const proxy = await startFaultProxy(chain.url)
  t.teardown(async () => {
    await proxy.close()
    await chain.stop()
  })
  const call = (id: number, method: string, ...params: unknown[]) => ({ jsonrpc: '2.0', id, method, params })
  const send = async (body: unknown, patienceMs = 60_000) => {
    const response = await fetch(proxy.url, {
      method: 'POST',
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
    })
    return { status: response.status, body: await response.text() }
  }
  const two = [call(1, 'eth_chainId'), call(2, 'eth_blockNumber')]
  const passed = JSON.parse((await send(two)).body)
  assertMembers(t, passed, [{ id: 1, result: '0x7a69' }, { id: 2 }])
  t.strictSame(proxy.requests, [['eth_chainId', 'eth_blockNumber']])
  t.match(proxy.url, proxy.secret)

  const outcome = async (fault: ProviderFault, patienceMs?: number) => {
    proxy.fault = fault
    return send(two, patienceMs).then(
      ({ status, body }) => `${status} ${body}`,
      () => 'no answer',
    )
  }
  t.match(await outcome('status-500'), /^500/)
  t.match(await outcome('status-429'), /^429/)
  t.match(await outcome('redirect'), /^302/)
  t.match(await outcome('html'), /^200 <html>/)
  for (const fault of ['reset', 'hang', 'half'] as const) t.equal(await outcome(fault, 500), 'no answer', fault)
  t.match(await outcome('wrong-id'), /"another"/)
  t.match(await outcome('rpc-error'), /header not found/)
  t.notMatch(await outcome('no-result'), /result/)
  t.match(await outcome('other-chain'), /"0x5"/)
  t.match(await outcome('reordered'), /^200 \[\{"jsonrpc":"2.0","id":2/)
  t.notMatch(await outcome('answer-missing'), /"id":2/)
  t.match(await outcome('refuses-batches'), /^200 \{/)
  proxy.fault = 'truncated-json'
  const { body } = await send(two)
  t.throws(() => JSON.parse(body), SyntaxError)
})
