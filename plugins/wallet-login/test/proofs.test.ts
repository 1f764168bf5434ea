/**
 * Tests that the stored proof of an identity decides which signatures are accepted. A contract can never sign in to an
 * identity that a key has proven.
 */
import { createDatabase, onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { configCentre } from '@plinth/system-config'
import t, { type Test } from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { describeOutcome, startWalletLogin, system } from './fixtures/product.ts'
import { type StubNode, startStubNode, validSignatureResult } from './fixtures/stub-node.ts'

const anna = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const contract = `0x${'c0'.repeat(20)}`
const garbage = `0x${'11'.repeat(65)}`
const rejected = '401 wallet-login.challenge-refused'
const me = '/api/v1/iam/users/me'
const chainId = 7

/** Starts a product in which contract wallets of the chain `main` may sign in. The nodes belong to this chain. */
async function start(t: Test, db: TestDatabase, nodes: readonly StubNode[], config: object = {}) {
  const product = await startWalletLogin(t, db, {
    config: {
      'platform.web3.contract-wallets.chain': 'main',
      'platform.outgoing-http.allow-http': true,
      'platform.outgoing-http.allowed-hosts': nodes.map(({ port }) => `127.0.0.1:${port}`),
      ...config,
    },
  })
  const { call, challenge, login } = product
  const admin = await product.adminToken()
  const providers = nodes.map(({ url }, at) => ({ id: `node-${at}`, url }))
  const body = { name: 'main', chainId, providers }
  const created = await call('POST', '/api/v1/admin/web3/chains', { token: admin, body })
  t.equal(created.code, '200')
  /** Signs in with a signature that no key has made, so the contract at the address decides. */
  const byContract = async (address: string) => {
    const { challengeId } = (await challenge(address, { chainId })).data
    return login({ challengeId, address, signature: garbage })
  }
  const reasons = async () => {
    const { data } = await call('GET', '/api/v1/admin/iam/login-audits?success=false', { token: admin })
    return data.items.map(({ reason }: { reason: string }) => reason)
  }
  const grant = async (userId: number) => {
    const roles = await call('GET', '/api/v1/admin/iam/roles', { token: admin })
    const role = roles.data.items.find(({ code }: { code: string }) => code === 'super-admin')
    const path = `/api/v1/admin/iam/users/${userId}`
    return call('PUT', path, { token: admin, body: { roleIds: [role.id] } })
  }
  /** Changes the chain on which contract wallets may sign. */
  const nameChain = (value: string) =>
    product.running
      .service(configCentre)
      .save([{ key: 'platform.web3.contract-wallets.chain', action: 'set', value }], { actor: system })
  return { ...product, admin, byContract, reasons, grant, nameChain, chain: created.data }
}

onDatabase(t, 'a contract never opens an account whose wallet has signed with its own key', async (t, db) => {
  const nodes = [await startStubNode(t, chainId), await startStubNode(t, chainId)]
  const { call, signIn, byContract, reasons, grant } = await start(t, db, nodes)
  const own = (await call('GET', me, { token: (await signIn(anna)).data.accessToken })).data
  t.equal((await grant(own.id)).code, '200')
  for (const node of nodes) node.results['eth_call'] = validSignatureResult
  t.equal(describeOutcome(await byContract(anna.address)), rejected)
  t.strictSame(await reasons(), ['wallet-login.proven-by-key'])
  t.equal((await signIn(anna)).code, '200', 'the key opens it still')
})

onDatabase(t, 'an identity of an earlier release, without a stored proof, counts as proven by a key', async (t, db) => {
  const nodes = [await startStubNode(t, chainId), await startStubNode(t, chainId)]
  const { accounts, byContract, reasons, signIn } = await start(t, db, nodes)
  for (const node of nodes) node.results['eth_call'] = validSignatureResult
  const { id } = await accounts.create({ username: 'carl', password: 'correct horse battery' }, system)
  await accounts.bindExternal(id, { provider: 'evm', chainType: 'evm', subject: contract }, system)
  t.equal(describeOutcome(await byContract(contract)), rejected)
  t.strictSame(await reasons(), ['wallet-login.proven-by-key'])
  await accounts.bindExternal(id, { provider: 'evm', chainType: 'evm', subject: anna.address.toLowerCase() }, system)
  t.equal((await signIn(anna)).code, '200')
})

onDatabase(
  t,
  'an account that a contract opened stays with the contract of that chain until a key signs',
  async (t, db) => {
    const nodes = [await startStubNode(t, chainId), await startStubNode(t, chainId)]
    const { call, byContract, reasons, signIn, admin, grant, challenge, login, nameChain } = await start(t, db, nodes)
    for (const node of nodes) node.results['eth_call'] = validSignatureResult
    const first = await byContract(contract)
    const { id } = (await call('GET', me, { token: first.data.accessToken })).data
    t.equal((await grant(id)).code, '200')
    const again = await byContract(contract)
    t.match((await call('GET', me, { token: again.data.accessToken })).data, { id, isSuperAdmin: true })

    const providers = nodes.map(({ url }, at) => ({ id: `node-${at}`, url }))
    const other = { name: 'other', chainId: 8, providers }
    t.equal((await call('POST', '/api/v1/admin/web3/chains', { token: admin, body: other })).code, '200')
    await nameChain('other')
    for (const node of nodes) node.results['eth_chainId'] = '0x8'
    const { challengeId } = (await challenge(contract, { chainId: 8 })).data
    t.equal(
      describeOutcome(await login({ challengeId, address: contract, signature: garbage })),
      rejected,
      'on another chain',
    )
    t.strictSame(await reasons(), ['wallet-login.proven-on-another-chain'])

    // An account with delegated code (EIP-7702) can sign in with its key or through its contract. The key is the
    // stronger proof.
    await nameChain('main')
    for (const node of nodes) node.results['eth_chainId'] = `0x${chainId.toString(16)}`
    t.equal((await byContract(anna.address)).code, '200')
    t.equal((await signIn(anna)).code, '200')
    t.equal(describeOutcome(await byContract(anna.address)), rejected, 'once its key has signed, only its key opens it')
  },
)

t.test('on a chain with one provider, contract wallets open only accounts without permissions', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const node = await startStubNode(t, chainId, { eth_call: validSignatureResult })
  const { call, byContract, reasons, grant } = await start(t, db, [node])
  const opened = await byContract(contract)
  const { id } = (await call('GET', me, { token: opened.data.accessToken })).data
  t.equal((await byContract(contract)).code, '200')
  t.equal((await grant(id)).code, '200')
  t.equal(describeOutcome(await byContract(contract)), rejected)
  t.strictSame(await reasons(), ['wallet-login.contract-unconfirmed'])
})

t.test('sessions that a contract opened end when the key of the address signs in', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const node = await startStubNode(t, chainId, { eth_call: validSignatureResult })
  const { call, byContract, signIn, grant } = await start(t, db, [node])
  const byNode = (await byContract(anna.address)).data.accessToken
  t.equal((await call('GET', me, { token: byNode })).code, '200')
  const byKey = (await signIn(anna)).data.accessToken
  const { id } = (await call('GET', me, { token: byKey })).data
  t.equal((await grant(id)).code, '200')
  t.equal((await call('GET', me, { token: byNode })).code, '401')
  t.equal((await call('GET', me, { token: (await signIn(anna)).data.accessToken })).code, '200')
})

t.test('if two providers disagree about a contract wallet, no account is opened', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const nodes = [await startStubNode(t, chainId, { eth_call: validSignatureResult }), await startStubNode(t, chainId)]
  const { byContract, reasons } = await start(t, db, nodes)
  t.equal(describeOutcome(await byContract(contract)), rejected)
  t.strictSame(await reasons(), ['wallet-login.contract-unanswered'])
})
