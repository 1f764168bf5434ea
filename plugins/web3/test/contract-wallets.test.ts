/** Tests contract wallets (EIP-1271) on a local chain. */

import { assertKeyEffect, until } from '@plinth/dev/testing'
import { createDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { deploy, deployToken, type FaultProxy, skipAnvil, startAnvil, startFaultProxy } from '@plinth/dev/testing/web3'
import { systemClock } from '@plinth/kernel'
import { configCentre } from '@plinth/system-config'
import { type Chain, type Hex, walletVerifier } from '@plinth/web3'
import t, { type Test } from 'tap'
import { encodeFunctionData, hashMessage, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type ContractResponse, ContractWallets } from '../src/signatures/contract-wallets.ts'
import { startWeb3, system } from './fixtures/product.ts'

const anna = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const message = 'hello'
const signature = await anna.signMessage({ message })
const agreement: Hex = `0x1626ba7e${'00'.repeat(28)}`
const on = { 'platform.web3.contract-wallets.chain': 'local' }
const shop = `0x${'5c'.repeat(20)}`
const abi = parseAbi(['function isValidSignature(bytes32 digest, bytes signature) view returns (bytes4)'])

const onChain = (name: string, tests: (t: Test, db: TestDatabase) => Promise<void>) =>
  t.test(name, { skip: skipAnvil, timeout: 600_000 }, async (t) => {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    await tests(t, db)
  })

interface WalletSettings {
  readonly config?: object
  readonly deadline?: string
  /** Number of chain providers; 3 if omitted. */
  readonly providers?: number
}

/** Starts a product with the chain `local`. Its providers `first`, `second` and `third` are proxies of one node. */
async function startWallets(t: Test, db: TestDatabase, settings: WalletSettings = {}) {
  const chain = await startAnvil()
  const [first, second, third] = [
    await startFaultProxy(chain.url),
    await startFaultProxy(chain.url),
    await startFaultProxy(chain.url),
  ]
  t.teardown(async () => {
    await Promise.all([first.close(), second.close(), third.close()])
    await chain.stop()
  })
  const { deadline = '60s' } = settings
  const product = await startWeb3(t, db, {
    ports: [first.port, second.port, third.port],
    clock: systemClock,
    config: { 'platform.web3.rpc.deadline': deadline, ...settings.config },
  })
  const token = await product.adminToken()
  const providers = [first, second, third]
    .slice(0, settings.providers)
    .map(({ url }, at) => ({ id: ['first', 'second', 'third'][at], url }))
  const content = { name: 'local', chainId: chain.chainId, providers }
  const created = await product.call('POST', '/api/v1/admin/web3/chains', token, content)
  t.equal(created.code, '200')
  const verifier = product.running.service(walletVerifier)
  const verify = (address: string, change: object = {}, chainId = chain.chainId) =>
    verifier.verifyPersonalOnChain(chainId, { address, message, signature, ...change })
  const forget = () => {
    for (const proxy of [first, second, third]) proxy.clear()
  }
  return { ...product, chain, first, second, third, token, verifier, verify, forget, id: created.data.id }
}

const calls = ({ requests }: FaultProxy) => requests.flat().filter((method) => method === 'eth_call').length

onChain('contract wallets are disabled by default: no chain is called, and only a key can sign', async (t, db) => {
  const { chain, first, second, verify, running } = await startWallets(t, db)
  const wallet = await deploy(chain, 'Wallet1271', anna.address)
  t.hasStrict(await verify(wallet), { valid: false, reason: 'signature-mismatch', method: undefined })
  t.match(await verify(anna.address), { valid: true, method: 'ecrecover' })
  t.same([first.requests, second.requests], [[], []])
  const [results] = await assertKeyEffect(t, 'platform.web3.contract-wallets.chain', {
    changed: 'local',
    async observe(values, key) {
      const value = values[key]
      if (value !== undefined)
        await running.service(configCentre).save([{ key, action: 'set', value }], { actor: system })
      return verify(wallet)
    },
  })
  t.match(results, { before: { valid: false }, after: { valid: true, method: 'eip-1271' } })
})

onChain('if enabled, the contract at the address decides about exactly the signed message', async (t, db) => {
  const product = await startWallets(t, db, { config: on })
  const { chain, first, second, third, verify, verifier, forget } = product
  const wallet = await deploy(chain, 'Wallet1271', anna.address)
  const requested: unknown[] = []
  first.rewrite = ({ method, params }, result) => {
    if (method === 'eth_call') requested.push(params)
    return result
  }
  t.strictSame(await verify(wallet), { valid: true, address: wallet, method: 'eip-1271', agreedProviders: 2 })
  const data = encodeFunctionData({ abi, args: [hashMessage(message), signature] })
  t.same(requested, [[{ to: wallet, data, gas: '0x1e8480' }, 'latest']], 'bounded gas, in the newest block')
  t.same([calls(second), calls(third)], [1, 0], 'two providers are asked')

  t.hasStrict(await verify(wallet, { message: 'hello!' }), { valid: false, reason: 'signature-mismatch' })
  const other = await privateKeyToAccount(`0x${'22'.repeat(32)}`).signMessage({ message })
  t.hasStrict(await verify(wallet, { signature: other }), { valid: false, reason: 'signature-mismatch' })
  for (const [odd, expected] of [
    ['0x', 'signature-malformed'],
    [`0x${'ab'.repeat(700)}`, 'signature-malformed'],
  ]) {
    t.match(await verify(wallet, { signature: odd }), { valid: false, reason: expected })
  }

  const typed = {
    domain: { name: 'Ether Mail', version: '1', chainId: chain.chainId, verifyingContract: wallet },
    types: { Mail: [{ name: 'contents', type: 'string' }] },
    primaryType: 'Mail',
    message: { contents: 'Hello, Bob!' },
  } as const
  const document = {
    address: wallet,
    typedData: JSON.stringify(typed),
    signature: await anna.signTypedData(typed),
  }
  t.match(await verifier.verifyTypedDataOnChain(chain.chainId, document), {
    valid: true,
    method: 'eip-1271',
    primaryType: 'Mail',
    domain: { verifyingContract: wallet },
  })
  t.hasStrict(verifier.verifyTypedData(document), { valid: false, reason: 'signature-mismatch' })

  forget()
  t.match(await verify(anna.address), {
    valid: true,
    method: 'ecrecover',
    recoveredAddress: anna.address.toLowerCase(),
  })
  t.hasStrict(await verify(wallet, {}, 5), { valid: false, reason: 'signature-mismatch' }, 'another chain')
  t.hasStrict(await verifier.verifyTypedDataOnChain(5, document), { valid: false, reason: 'chain-id-mismatch' })
  t.hasStrict(await verify(wallet, { signature: `0x${'ab'.repeat(4097)}` }), { reason: 'signature-malformed' })
  t.hasStrict(await verify(wallet, { signature: 'ab' }), { reason: 'signature-malformed' })
  t.hasStrict(await verify('0x12'), { reason: 'address-invalid' })
  t.same([first.requests, second.requests], [[], []], 'for none of these a chain is asked')

  const endpoint = (chain: string) => `/api/v1/open/web3/chains/${chain}/wallet-signatures/personal/verify`
  const app = await product.createApp(product.token, ['web3:wallet-signature:personal:verify'])
  const body = { address: wallet, message, signature }
  const response = await product.signed(app, endpoint('local'), body)
  t.strictSame(response.data, { valid: true, address: wallet, method: 'eip-1271', chain: 'local' })
  t.hasStrict((await product.signed(app, endpoint('evm'), body)).data, { valid: false, reason: 'signature-mismatch' })
  await product.call('PUT', `/api/v1/admin/web3/chains/${product.id}`, product.token, { enabled: false })
  t.hasStrict(await verify(wallet), { valid: false, reason: 'signature-mismatch' }, 'a disabled chain decides nothing')
})

onChain('only the exact response of an existing contract is accepted', async (t, db) => {
  const { chain, first, second, verify, forget } = await startWallets(t, db, { config: on })
  const empty = `0x${'e0'.repeat(20)}`
  const token = await deployToken(chain)
  const wallet = await deploy(chain, 'Wallet1271', anna.address)
  const odd = {
    'two words': 0,
    'less than a word': 1,
    'a revert with the value': 2,
    'something behind the value': 3,
    'the value at the other end': 4,
    nothing: 5,
    'no end': 6,
    'very much': 7,
  }
  for (const [name, mode] of Object.entries(odd)) {
    t.hasStrict(
      await verify(await deploy(chain, 'OddWallet', mode)),
      { valid: false, reason: 'signature-mismatch' },
      name,
    )
  }
  t.hasStrict(await verify(empty), { valid: false, reason: 'signature-mismatch' }, 'no contract')
  t.hasStrict(
    await verify(token.address),
    { valid: false, reason: 'signature-mismatch' },
    'a contract that is no wallet',
  )
  // The precompiled contract 4 returns its input, which begins with the correct value but is too long.
  t.hasStrict(await verify(`0x${'04'.padStart(40, '0')}`), { valid: false, reason: 'signature-mismatch' }, 'an echo')

  const reverting = await deploy(chain, 'OddWallet', 2)
  for (let time = 0; time < 5; time++) await verify(reverting)
  forget()
  t.match(await verify(wallet), { valid: true })
  t.same([calls(first), calls(second)], [1, 1], 'contracts of strangers do not get a provider left alone')
})

onChain('a failed provider is followed by the next one; no response is not a result', async (t, db) => {
  const { chain, first, second, third, verify } = await startWallets(t, db, {
    config: { ...on, 'platform.web3.rpc.breaker.failures': 100 },
  })
  const wallet = await deploy(chain, 'Wallet1271', anna.address)
  for (const fault of ['reset', 'status-500', 'html', 'rpc-error', 'answer-missing', 'truncated-json'] as const) {
    first.fault = fault
    t.match(await verify(wallet), { valid: true, method: 'eip-1271' }, fault)
  }
  first.fault = undefined
  for (const said of [null, 1, '0x1', 'yes', { data: agreement }]) {
    first.rewrite = ({ method }, result) => (method === 'eth_call' ? said : result)
    t.match(await verify(wallet), { valid: true }, `said ${JSON.stringify(said)}`)
  }
  first.rewrite = undefined
  first.fault = 'other-chain'
  for (const proxy of [second, third]) {
    proxy.rewrite = ({ method }, result) => (method === 'eth_call' ? `0x${'00'.repeat(32)}` : result)
  }
  t.hasStrict(
    await verify(wallet),
    { valid: false, reason: 'signature-mismatch' },
    'the node of another chain is not heard',
  )
  first.fault = 'reset'
  second.fault = 'status-429'
  third.fault = 'reset'
  t.hasStrict(await verify(wallet), { valid: false, reason: 'contract-unanswered', method: undefined })
})

onChain('with several providers, two must report that a contract agrees', async (t, db) => {
  const { chain, first, second, third, verify } = await startWallets(t, db, { config: on })
  const wallet = await deploy(chain, 'Wallet1271', anna.address)
  const yes = ({ method }: { method: string }, result: unknown) => (method === 'eth_call' ? agreement : result)
  const unanswered = { valid: false, reason: 'contract-unanswered', agreedProviders: undefined }
  for (const liar of [first, second, third]) {
    liar.rewrite = yes
    t.hasStrict(await verify(shop), { valid: false, reason: 'signature-mismatch' }, 'one of three opens nothing')
    liar.rewrite = undefined
  }
  first.rewrite = yes
  second.fault = 'reset'
  t.match(await verify(shop), unanswered, 'nor with the help of one that is down')
  third.fault = 'reset'
  t.match(await verify(shop), unanswered, 'nor alone')
  first.rewrite = undefined
  t.match(await verify(wallet), unanswered, 'a true answer of one is not enough')
  third.fault = undefined
  t.match(await verify(wallet), { valid: true, agreedProviders: 2 })
})

onChain('on a chain with one provider, the result says that only one has responded', async (t, db) => {
  const { chain, verify, call, token, id, first, second } = await startWallets(t, db, { config: on, providers: 1 })
  const wallet = await deploy(chain, 'Wallet1271', anna.address)
  t.match(await verify(wallet), { valid: true, agreedProviders: 1 })
  const providers = [first, second].map(({ url }, at) => ({ id: `node-${at}`, url }))
  t.equal((await call('PUT', `/api/v1/admin/web3/chains/${id}`, token, { providers })).code, '200')
  t.match(await verify(wallet), { valid: true, agreedProviders: 2 })
})

onChain('hanging providers are cancelled at the deadline', async (t, db) => {
  const { chain, first, second, third, verify } = await startWallets(t, db, { config: on, deadline: '200ms' })
  const wallet = await deploy(chain, 'Wallet1271', anna.address)
  first.fault = 'hang'
  second.fault = 'half'
  third.fault = 'contract-hang'
  t.hasStrict(await verify(wallet), { valid: false, reason: 'contract-unanswered' })
})

t.test('few calls run at the same time, because settlement needs the nodes too', async (t) => {
  const chain: Chain = {
    name: 'local',
    chainId: 1,
    enabled: true,
    requiredConfirmations: 1,
    finality: 'depth',
    maxHeadLagBlocks: 5,
    explorerTransactionUrl: null,
    providers: [],
  }
  const waiting: ((response: ContractResponse) => void)[] = []
  const wallets = new ContractWallets({
    chainName: () => 'local',
    chains: {
      get: async () => chain,
      call: () => new Promise((resolve) => void waiting.push(resolve)),
    },
  })
  const rejected = { valid: false, address: `0x${'c0'.repeat(20)}`, reason: 'signature-mismatch' as const }
  const decide = () => wallets.decide(1, rejected, new Uint8Array(32), '0x')
  const first = Array.from({ length: 16 }, decide)
  t.hasStrict(await decide(), { valid: false, reason: 'contract-unanswered' })
  t.equal(waiting.length, 16)
  for (const response of waiting.splice(0)) response({ data: agreement, providers: 1 })
  for (const { valid } of await Promise.all(first)) t.equal(valid, true)
  const next = decide()
  await Promise.resolve()
  await until(() => waiting.length !== 0, 'a call waits', 0)
  for (const response of waiting.splice(0)) response({ data: null, providers: 1 })
  t.strictSame(await next, rejected)
})
