/**
 * Tests who may change the chain of contract wallets, because its providers decide who can sign in with such a wallet.
 */
import { onDatabase } from '@plinth/dev/testing/database'
import { accounts } from '@plinth/iam'
import t from 'tap'
import { describeOutcome, startWeb3, system } from './fixtures/product.ts'

const chains = '/api/v1/admin/web3/chains'
const password = 'correct horse battery staple'
const provider = (id: string, path = '') => ({ id, url: `http://127.0.0.1:8545/${path}` })
const rejected = '403 web3.contract-wallets-protected'

onDatabase(t, 'providers of the chain for contract wallets need a separate permission to change', async (t, db) => {
  const product = await startWeb3(t, db, {
    ports: [8545],
    config: { 'platform.web3.contract-wallets.chain': 'main' },
  })
  const { call, adminToken, running } = product
  const root = await adminToken()
  /** Creates a user with exactly these permissions. */
  const operator = async (username: string, permissions: readonly string[]) => {
    const body = { code: username, name: username, dataScope: 'all', permissions }
    const role = await call('POST', '/api/v1/admin/iam/roles', root, body)
    t.equal(role.code, '200', role.text)
    await running.service(accounts).create({ username, password, roleIds: [role.data.id] }, system)
    const response = await call('POST', '/api/v1/auth/login', undefined, { username, password })
    return response.data.accessToken as string
  }
  const saver = await operator('saver', ['web3:chain:save'])
  const trusted = await operator('trusted', ['web3:chain:save', 'web3:contract-wallets:save'])
  const main = { name: 'main', chainId: 1, providers: [provider('own'), provider('spare', 'spare')] }

  t.equal(describeOutcome(await call('POST', chains, saver, main)), rejected, 'nobody else creates it first')
  const created = await call('POST', chains, trusted, main)
  t.equal(created.code, '200')
  const at = `${chains}/${created.data.id}`
  for (const [name, providers] of Object.entries({
    'another address': [provider('own', 'other'), { id: 'spare' }],
    'a third provider': [{ id: 'own' }, { id: 'spare' }, provider('third')],
    'one less': [{ id: 'own' }],
    none: [],
    'another order': [{ id: 'spare' }, { id: 'own' }],
  })) {
    const response = await call('PUT', at, saver, { providers })
    t.equal(describeOutcome(response), rejected, name)
    t.equal(response.data.permission, 'web3:contract-wallets:save')
  }
  const same = { providers: [{ id: 'own' }, { id: 'spare' }], requiredConfirmations: 12 }
  t.match((await call('PUT', at, saver, same)).data, { requiredConfirmations: 12 }, 'the rest may change')
  t.equal((await call('PUT', at, saver, { enabled: false })).code, '200', 'it may be disabled')
  t.equal(describeOutcome(await call('PUT', at, saver, { enabled: true })), rejected, 'and not enabled again')
  t.equal((await call('PUT', at, trusted, { enabled: true, providers: [{ id: 'own' }] })).code, '200')

  const other = await call('POST', chains, saver, { name: 'other', chainId: 2, providers: [provider('own')] })
  t.equal(other.code, '200')
  const elsewhere = await call('PUT', `${chains}/${other.data.id}`, saver, { providers: [provider('new')] })
  t.equal(elsewhere.code, '200', 'another chain is not protected')
})
