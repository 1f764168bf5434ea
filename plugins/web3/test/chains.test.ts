import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTick } from 'node:timers/promises'
import { database } from '@plinth/database'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { deployToken, type ProviderFault } from '@plinth/dev/testing/web3'
import type { OutgoingRequest } from '@plinth/outgoing-http'
import { explorerBase } from '@plinth/web3'
import { pino } from 'pino'
import t from 'tap'
import { JsonRpc } from '../src/chains/json-rpc.ts'
import { describeOutcome, startWeb3 } from './fixtures/product.ts'
import {
  adminChainsPath,
  expectFailureReason,
  expectObservation,
  onChain,
  shopAddress,
  startProviders,
  unknownHash,
} from './fixtures/providers.ts'

onDatabase(
  t,
  'A26 W-030 administrators set up chains; addresses of providers are encrypted and never shown',
  async (t, db) => {
    const lines: string[] = []
    const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
    const { running, call, adminToken, chains } = await startWeb3(t, db, { ports: [8545, 8546], logger })
    const token = await adminToken()
    // A stored provider URL cannot be read through the API.
    const secret = 'PLANTED-rpc-key-55aa'
    const body = {
      name: 'local',
      chainId: 31337,
      requiredConfirmations: 3,
      explorerTransactionUrl: 'https://explorer.example/tx/{hash}',
      providers: [
        { id: 'own-node', url: `http://127.0.0.1:8545/${secret}` },
        { id: 'spare', url: `http://127.0.0.1:8546/${secret}2` },
      ],
    }
    const created = await call('POST', adminChainsPath, token, body)
    t.hasStrict(created, {
      code: '200',
      data: { name: 'local', enabled: true, finality: 'depth', maxHeadLagBlocks: 50, version: 1 },
    })
    t.strictSame(created.data.providers, [{ id: 'own-node' }, { id: 'spare' }])
    const { id } = created.data

    t.equal(
      describeOutcome(await call('POST', adminChainsPath, token, { ...body, chainId: 5 })),
      '409 web3.chain-taken',
    )
    t.equal(
      describeOutcome(await call('POST', adminChainsPath, token, { ...body, name: 'other' })),
      '409 web3.chain-taken',
    )
    const rejected = async (change: object) => {
      const { code, data } = await call('PUT', `${adminChainsPath}/${id}`, token, change)
      return `${code} ${data.reason} ${data.field}`
    }
    t.equal(await rejected({ providers: [{ id: 'new' }] }), '400 web3.provider-url-missing providers/0/url')
    t.equal(
      await rejected({ providers: [{ id: 'spare' }, { id: 'spare' }] }),
      '400 web3.provider-id-twice providers/1/id',
    )
    for (const providers of [
      ['a', 'b'].map((id) => ({ id, url: 'http://127.0.0.1:8545/' })),
      [
        { id: 'a', url: 'http://127.0.0.1:8545' },
        { id: 'b', url: 'HTTP://127.0.0.1:8545/x/../#b' },
      ],
      [{ id: 'own-node' }, { id: 'new', url: `http://127.0.0.1:8545/${secret}` }],
      [{ id: 'own-node' }, { id: 'spare', url: `http://127.0.0.1:8545/${secret}` }],
    ]) {
      t.equal(await rejected({ providers }), '400 web3.provider-url-twice providers/1/url')
    }
    const twice = ['a', 'b'].map((id) => ({ id, url: 'http://127.0.0.1:8546/' }))
    t.hasStrict(
      (await call('POST', adminChainsPath, token, { ...body, name: 'twice', chainId: 6, providers: twice })).data,
      {
        reason: 'web3.provider-url-twice',
        field: 'providers/1/url',
        rule: 'distinct',
      },
    )
    for (const url of [
      'http://127.0.0.1:9999/',
      'ftp://127.0.0.1:8545/',
      'http://u:p@127.0.0.1:8545/',
      'http://169.254.169.254/',
    ]) {
      t.equal(
        await rejected({ providers: [{ id: 'own-node', url }] }),
        '400 web3.provider-url-refused providers/0/url',
        url,
      )
    }
    for (const explorerTransactionUrl of [
      'https://explorer.example/',
      'javascript:{hash}',
      'https://u:p@explorer.example/{hash}',
      'https://explorer.example/"><b>/{hash}',
      'https://explorer.example/<script>alert(1)</script>/{hash}',
      'https://explorer.example/tx/{hash}?x=" onmouseover="alert(1)',
      'https://{hash}.example/',
      'https://explorer.example:{hash}/',
      'https:\\\\explorer.example\\{hash}',
      'https://explorer.example/../tx/{hash}',
      'https://explorer.example/\u202Etx/{hash}',
      'https://explorer.example/`/{hash}',
      'data:text/html,{hash}',
      ' https://explorer.example/tx/{hash}',
    ]) {
      t.equal(
        await rejected({ explorerTransactionUrl }),
        '400 web3.explorer-url-invalid explorerTransactionUrl',
        explorerTransactionUrl,
      )
    }
    for (const explorerTransactionUrl of ['https://explorer.example/?tx={hash}#logs', body.explorerTransactionUrl]) {
      const { data } = await call('PUT', `${adminChainsPath}/${id}`, token, { explorerTransactionUrl })
      t.match(data, { explorerTransactionUrl })
    }
    const stored = (value: string) =>
      running.service(database).execute('update web3_chain set explorer_transaction_url = ?', [value])
    await stored('https://explorer.example/"><b>/{hash}')
    t.equal((await chains.get('local'))?.explorerTransactionUrl, null, 'an address of an earlier release is not shown')
    await stored(body.explorerTransactionUrl)
    for (const name of ['evm', 'Main Net', ''])
      t.equal((await call('POST', adminChainsPath, token, { ...body, name })).code, '400', name)
    t.equal((await call('GET', adminChainsPath, token)).data.length, 1)

    const changed = await call('PUT', `${adminChainsPath}/${id}`, token, {
      providers: [{ id: 'spare' }],
      finality: 'safe',
      version: 3,
    })
    assertMembers(t, changed.data, { version: 4, finality: 'safe', providers: [{ id: 'spare' }], updatedBy: 'admin' })
    const stale = await call('PUT', `${adminChainsPath}/${id}`, token, { enabled: false, version: 1 })
    t.hasStrict(stale, {
      code: '409',
      data: { reason: 'web3.version-conflict', currentVersion: 4, updatedBy: 'admin' },
    })
    await call('PUT', `${adminChainsPath}/${id}`, token, { enabled: false })
    assertMembers(t, await chains.get('local'), {
      enabled: false,
      requiredConfirmations: 3,
      providers: [{ id: 'spare' }],
    })
    t.equal(
      expectFailureReason(await chains.facts('local', { transactionHash: unknownHash })),
      'chain-not-configured: ',
    )
    t.equal(
      expectFailureReason(await chains.facts('elsewhere', { transactionHash: unknownHash })),
      'chain-not-configured: ',
    )
    await t.rejects(chains.facts('local', { transactionHash: '0x12' }), RangeError)
    t.equal(await chains.get('elsewhere'), undefined)
    t.equal(describeOutcome(await call('GET', `${adminChainsPath}/1`, token)), '404 web3.chain-unknown')
    t.equal((await call('GET', adminChainsPath)).code, '401')

    const audits = await call('GET', '/api/v1/admin/iam/audits?targetType=web3-chain', token)
    assertMembers(t, audits.data.items.map(({ action }: { action: string }) => action).sort(), [
      'web3-chain.create',
      ...Array(4).fill('web3-chain.update'),
    ])
    const kysely = running.service(database).fork().getKysely<Record<string, object>>()
    const rows = await Promise.all(
      ['web3_chain', 'iam_audit', 'sys_config'].map((one) => kysely.selectFrom(one).selectAll().execute()),
    )
    const files =
      db.dialect === 'sqlite' ? readdirSync(db.directory).filter((name) => name.startsWith('test.sqlite')) : []
    const everything = [JSON.stringify(rows), created.text, changed.text, audits.text, ...lines]
    for (const text of [...everything, ...files.map((name) => readFileSync(join(db.directory, name), 'latin1'))]) {
      t.notMatch(text, secret)
      t.notMatch(text, '127.0.0.1:8545')
    }
  },
)

onChain('an encrypted URL is valid only for its own provider', async (t, at) => {
  const { chains, create, provider, first, running } = await startProviders(t, at)
  t.equal((await create('local', { providers: [provider('first', first)] })).code, '200')
  t.equal(expectFailureReason(await chains.facts('local', { transactionHash: unknownHash })), 'facts')
  const db = running.service(database)
  const [row] = await db.query<{ providers: unknown }>('select providers from web3_chain')
  const stored = typeof row?.providers === 'string' ? row.providers : JSON.stringify(row?.providers)
  await db.execute('update web3_chain set providers = ?', [stored.replace('"first"', '"other"')])
  t.equal(
    expectFailureReason(await chains.facts('local', { transactionHash: unknownHash })),
    'rpc-query-failed: other secret-unreadable',
  )
})

onChain('data of a real chain: unknown, waiting, mined, two transfers, failed, confirmed', async (t, db) => {
  const { chains, chain, create, provider, first } = await startProviders(t, db)
  t.equal((await create('local', { providers: [provider('first', first)] })).code, '200')
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const factsOf = async (transactionHash: string) => chains.facts('local', { transactionHash })

  t.match(await factsOf(unknownHash), {
    providerId: 'first',
    chainId: 31337,
    transaction: null,
    receipt: null,
    canonicalBlockHash: null,
    blockTime: null,
  })
  await chain.automine(false)
  const waiting = await token.transfer(buyer, shopAddress, 5n, { gas: 100_000 })
  t.match(await factsOf(waiting), {
    transaction: { hash: waiting, from: buyer.toLowerCase(), to: token.address, value: 0n, blockNumber: null },
    receipt: null,
  })
  await chain.automine(true)
  await chain.mine()
  const mined = expectObservation(await factsOf(waiting.toUpperCase().replace('0X', '0x')))
  assertMembers(t, mined, {
    receipt: {
      status: 'success',
      transactionHash: waiting,
      logs: [{ address: token.address, removed: false, logIndex: 0 }],
    },
  })
  t.ok(mined.head >= (mined.receipt?.blockNumber ?? 0))
  t.equal(mined.canonicalBlockHash, mined.receipt?.blockHash)
  const block = await chain.rpc<{ timestamp: string }>('eth_getBlockByHash', [mined.receipt?.blockHash, false])
  t.equal(mined.blockTime, Number(block.timestamp) * 1000)
  t.equal(mined.receipt?.logs[0]?.topics.length, 3)
  await chain.mine(2)
  t.equal(expectObservation(await factsOf(waiting)).head, mined.head + 2)
  t.equal(
    expectObservation(await factsOf(await token.transferTwice(buyer, shopAddress, 1n, shopAddress, 2n))).receipt?.logs
      .length,
    2,
  )
  t.equal(
    expectObservation(await factsOf(await token.transfer(buyer, shopAddress, 10n ** 9n, { gas: 100_000 }))).receipt
      ?.status,
    'reverted',
  )
})

onChain('reorganisations: a receipt that disappeared, and one whose block was replaced', async (t, db) => {
  const { chains, chain, create, provider, first } = await startProviders(t, db)
  await create('local', { providers: [provider('first', first)] })
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const hash = await token.transfer(buyer, shopAddress, 5n)
  const before = expectObservation(await chains.facts('local', { transactionHash: hash }))
  first.fault = 'other-block'
  const moved = expectObservation(await chains.facts('local', { transactionHash: hash }))
  t.not(moved.canonicalBlockHash, moved.receipt?.blockHash)
  first.fault = 'removed-logs'
  t.equal(expectObservation(await chains.facts('local', { transactionHash: hash })).receipt?.logs[0]?.removed, true)
  first.fault = undefined
  await chain.reorganise(1)
  t.match(await chains.facts('local', { transactionHash: hash }), { receipt: null, head: before.head })
})

onChain('finality: the blocks that the node calls safe and finalized, requested only if needed', async (t, db) => {
  const { chains, chain, create, provider, first, call, token } = await startProviders(t, db)
  const { data } = await create('local', { providers: [provider('first', first)], finality: 'safe' })
  await chain.mine(10)
  t.match(await chains.facts('local', { transactionHash: unknownHash }), {
    head: 10,
    safeNumber: 9,
    finalizedNumber: undefined,
  })
  await call('PUT', `${adminChainsPath}/${data.id}`, token, { finality: 'finalized' })
  t.match(await chains.facts('local', { transactionHash: unknownHash }), {
    head: 10,
    safeNumber: undefined,
    finalizedNumber: 8,
  })
  first.fault = 'safe-refused'
  t.equal(
    expectFailureReason(await chains.facts('local', { transactionHash: unknownHash })),
    'rpc-query-failed: first rpc-error',
  )
  await call('PUT', `${adminChainsPath}/${data.id}`, token, { finality: 'depth' })
  t.match(await chains.facts('local', { transactionHash: unknownHash }), { head: 10, safeNumber: undefined })
})

const problems: Readonly<Record<string, string>> = {
  'status-500': 'http-status',
  'status-429': 'rate-limited',
  html: 'answer-invalid',
  redirect: 'http-status',
  reset: 'unreachable',
  hang: 'timeout',
  half: 'timeout',
  'rpc-error': 'rpc-error',
  'wrong-id': 'answer-invalid',
  'answer-missing': 'answer-invalid',
  'no-result': 'answer-invalid',
  'truncated-json': 'answer-invalid',
  'refuses-batches': 'answer-invalid',
  'other-chain': 'chain-id-mismatch',
  'stale-head': 'stale-head',
  'status-missing': 'result-invalid',
  'logs-null': 'result-invalid',
  'other-receipt': 'result-invalid',
}

onChain(
  'every failure of a provider: its data is not used, the next provider is called, and no address is shown',
  async (t, db) => {
    const config = {
      'platform.web3.rpc.deadline': '4s',
      'platform.web3.rpc.breaker.failures': 100,
      'platform.web3.rpc.breaker.pause': '10m',
    }
    const {
      chains,
      chain,
      create,
      provider,
      first,
      second,
      lines,
      call,
      token: adminToken,
    } = await startProviders(t, db, { config })
    const { data } = await create('local', {
      providers: [provider('first', first), provider('second', second)],
      maxHeadLagBlocks: 1_000_000,
    })
    const [, buyer = '0x'] = chain.accounts
    const token = await deployToken(chain)
    await token.mint(buyer, 1000n)
    const other = await token.transfer(buyer, shopAddress, 7n)
    const hash = await token.transfer(buyer, shopAddress, 5n)
    await chain.mine(3)
    // Both proxies must see this receipt, because one fault returns the receipt of another transaction.
    for (const proxy of [first, second]) {
      await fetch(proxy.url, {
        method: 'POST',
        body: JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'eth_getTransactionReceipt', params: [other] }]),
      })
    }
    for (const [fault, expected] of Object.entries(problems)) {
      // A check by an administrator closes the circuit breakers of all providers that respond.
      first.fault = undefined
      second.fault = undefined
      await call('POST', `${adminChainsPath}/${data.id}/verify`, adminToken)
      first.fault = fault as ProviderFault
      const answered = expectObservation(await chains.facts('local', { transactionHash: hash }))
      t.hasStrict(
        answered,
        { providerId: 'second', receipt: { transactionHash: hash, status: 'success' } },
        `${fault}: the next one answers`,
      )
      second.fault = fault as ProviderFault
      const text = expectFailureReason(await chains.facts('local', { transactionHash: hash }))
      const error = fault === 'other-chain' ? 'chain-id-mismatch' : 'rpc-query-failed'
      t.equal(text, `${error}: first ${expected}, second ${expected}`, fault)
      if (fault !== 'other-chain') continue
      second.fault = undefined
      await call('POST', `${adminChainsPath}/${data.id}/verify`, adminToken)
      second.fault = 'status-500'
      const mixed = expectFailureReason(await chains.facts('local', { transactionHash: hash }))
      t.equal(mixed, 'rpc-query-failed: first chain-id-mismatch, second http-status')
    }
    first.fault = undefined
    second.fault = undefined
    await call('POST', `${adminChainsPath}/${data.id}/verify`, adminToken)
    first.fault = 'reordered'
    t.match(
      await chains.facts('local', { transactionHash: hash }),
      { providerId: 'first', receipt: { transactionHash: hash } },
      'answers in another order are right',
    )
    for (const line of lines) {
      t.notMatch(line, 'PLANTED')
      t.notMatch(line, `${first.port}/`)
    }
  },
)

onChain('a failed provider is paused, and tried again by one call', async (t, db) => {
  const config = { 'platform.web3.rpc.breaker.failures': 2, 'platform.web3.rpc.breaker.pause': '10m' }
  const clock = manualClock()
  const { chains, create, provider, first, second, lines, call, token } = await startProviders(t, db, {
    config,
    clock,
  })
  const { data } = await create('local', { providers: [provider('first', first), provider('second', second)] })
  const ask = () => chains.facts('local', { transactionHash: unknownHash })
  first.fault = 'status-500'
  for (let n = 0; n < 2; n++) t.match(await ask(), { providerId: 'second' })
  first.clear()
  for (let n = 0; n < 5; n++) t.match(await ask(), { providerId: 'second' })
  t.equal(first.requests.length, 0, 'five calls, none of them to the dead one')
  t.equal(lines.filter((line) => line.includes('an RPC provider fails')).length, 1)
  second.fault = 'status-500'
  await ask()
  await ask()
  t.equal(expectFailureReason(await ask()), 'rpc-query-failed: first circuit-open, second circuit-open')
  first.fault = undefined
  second.fault = undefined
  await clock.advance(600_000)
  const responses = await Promise.all([ask(), ask(), ask()])
  t.ok(responses.some((facts) => !('error' in facts) && facts.providerId === 'first'))
  t.match(await ask(), { providerId: 'first' })
  t.ok(lines.some((line) => line.includes('responds again')))

  first.fault = 'other-chain'
  t.match(await ask(), { providerId: 'second' })
  t.ok(lines.some((line) => line.includes('a node of another chain') && line.includes('"level":50')))
  first.clear()
  const checked = await call('POST', `${adminChainsPath}/${data.id}/verify`, token)
  assertMembers(t, checked.data, [
    { providerId: 'first', fault: 'chain-id-mismatch', head: null },
    { providerId: 'second', fault: null, head: 0 },
  ])
  t.equal(first.requests.length, 1, 'an administrator who asks gets an answer of now')
})

onChain('a provider far behind the others returns no data', async (t, db) => {
  const { chains, chain, create, provider, first, second, call, token } = await startProviders(t, db)
  const { data } = await create('local', {
    providers: [provider('first', first), provider('second', second)],
    maxHeadLagBlocks: 20,
  })
  await chain.mine(100)
  first.fault = 'stale-head'
  await call('POST', `${adminChainsPath}/${data.id}/verify`, token)
  t.match(await chains.facts('local', { transactionHash: unknownHash }), { providerId: 'second', head: 100 })
})

onChain('many transactions are requested in few calls', async (t, db) => {
  const { chains, chain, create, provider, first, running } = await startProviders(t, db)
  await create('local', { providers: [provider('first', first)] })
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 10_000n)
  await chain.automine(false)
  const sent: string[] = []
  // The transfers are sent one after another, because the chain numbers the transactions of a sender.
  for (let n = 0; n < 120; n++) sent.push(await token.transfer(buyer, shopAddress, 1n, { gas: 100_000 }))
  await chain.automine(true)
  await chain.mine(1)
  first.clear()
  const facts = await chains.factsOfMany('local', [...sent, ...sent, unknownHash])
  t.equal(facts.size, 121)
  t.ok(sent.every((hash) => expectObservation(facts.get(hash)).receipt?.logs.length === 1))
  t.ok(first.requests.every((calls) => calls.length <= 100))
  t.ok(first.requests.length <= Math.ceil((121 * 5) / 100) + 2, `${first.requests.length} requests`)
  first.clear()
  await Promise.all(sent.slice(0, 10).map((transactionHash) => chains.facts('local', { transactionHash })))
  t.ok(first.requests.length <= 20, `ten at once: ${first.requests.length} requests`)
  await running.stop('restarts')
})

onChain('without batches each call is separate, and a range with a too long response is halved', async (t, db) => {
  const config = { 'platform.web3.rpc.batch-size': 1, 'platform.web3.rpc.deadline': '4s' }
  const { chains, chain, create, provider, first } = await startProviders(t, db, { config })
  await create('local', { providers: [provider('first', first)] })
  t.match(await chains.facts('local', { transactionHash: unknownHash }), { head: 0 })
  t.ok(first.requests.every((calls) => calls.length === 1))
  t.equal(first.requests.length, 4)
  first.fault = 'hang'
  t.match(expectFailureReason(await chains.facts('local', { transactionHash: unknownHash })), /timeout/)
  await chain.mine()
})

t.test('a provider gets at most four requests at the same time', async (t) => {
  let [inFlight, maxInFlight] = [0, 0]
  const request = async ({ body }: OutgoingRequest) => {
    inFlight++
    maxInFlight = Math.max(maxInFlight, inFlight)
    // All requests that may be sent together are sent in the same tick.
    await nextTick()
    inFlight--
    return {
      status: 200,
      headers: {},
      truncated: false,
      body: JSON.stringify({ ...JSON.parse(String(body)), result: 1 }),
    }
  }
  const settings = () => ({ deadlineMs: 60_000, batchSize: 1, maxResponseBytes: 100_000 })
  const rpc = new JsonRpc({ request }, 'https://node.example/', settings)
  const results = await Promise.all(Array.from({ length: 20 }, () => rpc.call('eth_blockNumber')))
  t.same(results, Array(20).fill(1))
  t.equal(maxInFlight, 4)
})

onChain('a receipt that is too long does not affect the data of others', async (t, db) => {
  const config = { 'platform.web3.rpc.max-response-size': '16KiB' }
  const { chains, chain, create, provider, first } = await startProviders(t, db, { config })
  await create('local', { providers: [provider('first', first)] })
  const [, buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await token.mint(buyer, 1000n)
  const [small, large] = [await token.transfer(buyer, shopAddress, 1n), await token.transfer(buyer, shopAddress, 2n)]
  first.rewrite = ({ method, params }, result) =>
    method === 'eth_getTransactionReceipt' && params[0] === large
      ? { ...(result as object), padding: 'x'.repeat(20_000) }
      : result
  const facts = await chains.factsOfMany('local', [small, large])
  t.hasStrict(facts.get(small), { receipt: { status: 'success' } })
  t.equal(expectFailureReason(facts.get(large)), 'rpc-query-failed: first answer-too-large')
})

t.test('an explorer has transactions, addresses and blocks below one https address, or is not used', async (t) => {
  for (const [explorerTransactionUrl, base] of [
    ['https://basescan.org/tx/{hash}', 'https://basescan.org'],
    ['https://explorer.example/base/mainnet/tx/{hash}', 'https://explorer.example/base/mainnet'],
    ['http://explorer.example/tx/{hash}', null],
    ['https://explorer.example/tx/{hash}?tab=logs', null],
    ['https://explorer.example/transactions/{hash}', null],
    ['https://explorer.example/?chain=1/tx/{hash}', null],
    [null, null],
  ] as const)
    t.equal(explorerBase({ explorerTransactionUrl }), base, String(explorerTransactionUrl))
})
