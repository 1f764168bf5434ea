import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import { accounts } from '@plinth/iam'
import t from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { describeOutcome, startWeb3 } from './fixtures/product.ts'
import { vectors } from './fixtures/vectors.ts'

const personalScope = 'web3:wallet-signature:personal:verify'
const typedScope = 'web3:wallet-signature:typed-data:verify'
const endpoint = (chain: string, kind: 'personal' | 'typed-data') =>
  `/api/v1/open/web3/chains/${chain}/wallet-signatures/${kind}/verify`
const anna = privateKeyToAccount(`0x${'11'.repeat(32)}`)

onDatabase(
  t,
  'W-022 W-023 W-024 W-025 W-026 W-028 W-029 the open endpoints: signed callers get only the result, the same every time',
  async (t, db) => {
    const { running, call, adminToken, createApp, signed, db: data } = await startWeb3(t, db)
    const token = await adminToken()
    const chain = { name: 'main', chainId: 1, providers: [] }
    const { data: created } = await call('POST', '/api/v1/admin/web3/chains', token, chain)
    const app = await createApp(token, [personalScope, typedScope])
    const message = 'hello'
    const body = { address: anna.address, message, signature: await anna.signMessage({ message }) }

    t.equal(
      describeOutcome(await call('POST', endpoint('main', 'personal'), undefined, body)),
      '401 open-platform.header-missing',
    )
    t.equal(
      describeOutcome(await call('POST', endpoint('main', 'personal'), token, body)),
      '401 open-platform.header-missing',
    )
    const without = await createApp(token, [typedScope])
    t.equal(
      describeOutcome(await signed(without, endpoint('main', 'personal'), body)),
      '403 open-platform.scope-missing',
    )
    const other = await createApp(token, [personalScope])
    t.equal(
      describeOutcome(await signed(other, endpoint('main', 'typed-data'), body)),
      '403 open-platform.scope-missing',
    )

    const tables = ['iam_user', 'iam_token', 'iam_external_identity', 'iam_login_audit', 'iam_audit', 'web3_chain']
    const kysely = data.fork().getKysely<Record<string, object>>()
    const rows = async () =>
      JSON.stringify(await Promise.all(tables.map((table) => kysely.selectFrom(table).selectAll().execute())))
    const before = await rows()
    const address = anna.address.toLowerCase()
    const right = { valid: true, address, recoveredAddress: address, method: 'ecrecover', chain: 'main' }
    for (let n = 0; n < 2; n++) {
      const { code, data } = await signed(app, endpoint('main', 'personal'), body)
      t.strictSame([code, data], ['200', right])
    }
    t.hasStrict(await signed(app, endpoint('evm', 'personal'), body), {
      code: '200',
      data: { valid: true, chain: 'evm' },
    })
    const hex = { ...body, message: '0x68656c6c6f', messageEncoding: 'hex' }
    t.hasStrict(await signed(app, endpoint('main', 'personal'), hex), { code: '200', data: { valid: true } })
    for (const [signature, reason] of [
      [body.signature.slice(0, -1), 'signature-malformed'],
      ['', 'signature-malformed'],
      ['0xzz', 'signature-malformed'],
      [`${body.signature.slice(0, -2)}${body.signature.endsWith('1b') ? '1c' : '1b'}`, 'signature-mismatch'],
    ] as const) {
      const { code, data } = await signed(app, endpoint('main', 'personal'), { ...body, signature })
      assertMembers(t, [code, data], ['200', { valid: false, reason }], reason)
    }
    const wrong = await signed(app, endpoint('main', 'personal'), { ...body, address: `${address}0` })
    assertMembers(t, [describeOutcome(wrong), wrong.data.field], ['400 web3.address-invalid', 'address'])
    t.equal((await signed(app, endpoint('main', 'personal'), { address })).code, '400')

    const [mail] = vectors.signatures.filter(({ id }) => id === 'td-eip712-mail')
    if (mail === undefined) throw new Error('the vector is missing')
    const typed = { address: mail.address, typedData: JSON.stringify(mail.typedData), signature: mail.signature }
    for (let n = 0; n < 2; n++) {
      t.hasStrict(await signed(app, endpoint('main', 'typed-data'), typed), {
        code: '200',
        data: {
          valid: true,
          chain: 'main',
          primaryType: 'Mail',
          domain: { name: 'Ether Mail', version: '1', chainId: '1' },
        },
      })
    }
    t.equal(await rows(), before, 'no user, no session, no attempt, no record')
    await call('POST', '/api/v1/admin/web3/chains', token, { name: 'other', chainId: 137, providers: [] })
    t.hasStrict(await signed(app, endpoint('other', 'typed-data'), typed), {
      code: '200',
      data: { valid: false, reason: 'chain-id-mismatch', domain: { chainId: '1' } },
    })
    t.hasStrict(await signed(app, endpoint('evm', 'typed-data'), typed), { code: '200', data: { valid: true } })
    t.hasStrict(await signed(app, endpoint('main', 'typed-data'), { ...typed, typedData: '{}' }), {
      code: '200',
      data: { valid: false, reason: 'typed-data-malformed' },
    })
    t.equal((await signed(app, endpoint('main', 'typed-data'), { ...typed, typedData: mail.typedData })).code, '400')
    t.equal(describeOutcome(await signed(app, endpoint('solana', 'personal'), body)), '404 web3.chain-unknown')
    await call('PUT', `/api/v1/admin/web3/chains/${created.id}`, token, { enabled: false })
    t.equal(describeOutcome(await signed(app, endpoint('main', 'personal'), body)), '404 web3.chain-unknown')
    t.equal(await running.service(accounts).findByExternal({ provider: 'evm', subject: address }), undefined)
  },
)

t.test('W-022 a product without the open platform has no open endpoints, and starts', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { server } = await startWeb3(t, db, { withoutOpenPlatform: true })
  t.strictSame(
    server.routes.filter(({ path }) => path.includes('/open/')),
    [],
  )
})

t.test(
  'W-028 W-031 a typed-data signature decides nothing: points for the caller to check are reported, not judged',
  async (t) => {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const { call, adminToken, createApp, signed, server } = await startWeb3(t, db)
    const token = await adminToken()
    for (const [name, chainId] of [
      ['main', 1],
      ['side', 137],
    ] as const) {
      await call('POST', '/api/v1/admin/web3/chains', token, { name, chainId, providers: [] })
    }
    const app = await createApp(token, [typedScope])
    const contract = `0x${'c0'.repeat(20)}`
    const permit = {
      domain: { name: 'Token', version: '1', chainId: 1, verifyingContract: contract },
      primaryType: 'Permit',
      types: {
        Permit: [
          { name: 'owner', type: 'address' },
          { name: 'spender', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'nonce', type: 'uint256' },
          { name: 'deadline', type: 'uint256' },
        ],
      },
      message: { owner: anna.address, spender: contract, value: '1', nonce: '0', deadline: '9999999999' },
    }
    type Permit = typeof permit
    const verify = async (document: Permit, address = anna.address, chain = 'main') => {
      const signature = await anna.signTypedData(document as never)
      const body = { address, typedData: JSON.stringify(document), signature }
      return (await signed(app, endpoint(chain, 'typed-data'), body)).data
    }
    const message = (change: object): Permit => ({ ...permit, message: { ...permit.message, ...change } })
    const domain = (change: object): Permit => ({ ...permit, domain: { ...permit.domain, ...change } })
    /** An application must reject each of these documents although the signature is valid. */
    for (const [what, document] of Object.entries({
      'the deadline is over': message({ deadline: '1' }),
      'the nonce is used': message({ nonce: '0' }),
      'all there is': message({ value: String(2n ** 256n - 1n) }),
      'another party is authorised': message({ owner: contract }),
      'another contract': domain({ verifyingContract: `0x${'c1'.repeat(20)}` }),
      'another domain': domain({ name: 'Not the token' }),
    })) {
      const expected = { valid: true, domain: document.domain.name, contract: document.domain.verifyingContract }
      for (let time = 0; time < 2; time++) {
        const { valid, domain, primaryType } = await verify(document)
        t.same({ valid, domain: domain.name, contract: domain.verifyingContract }, expected, what)
        assertMembers(t, [domain.chainId, primaryType], ['1', 'Permit'])
      }
    }
    t.hasStrict(await verify(permit, anna.address, 'side'), { valid: false, reason: 'chain-id-mismatch' })
    t.hasStrict(await verify(permit, contract as never), { valid: false, reason: 'signature-mismatch' })

    // No other operation accepts typed data, so no operation acts on it.
    const { paths } = await server.openapi()
    const takers = Object.entries(paths).flatMap(([path, operations]) =>
      Object.values(operations).some(({ requestBody }) => JSON.stringify(requestBody ?? {}).includes('"typedData"'))
        ? [path]
        : [],
    )
    t.same(takers, [endpoint('{chain}', 'typed-data')])
  },
)

t.test('W-030 the sources of web3 contain no key, sign nothing and open no session', async (t) => {
  const root = join(import.meta.dirname, '../src')
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const sources = files
    .filter((name) => !name.startsWith('testing'))
    .map((name) => readFileSync(join(root, name), 'utf8'))
  t.ok(sources.length > 20)
  for (const source of sources) {
    t.notMatch(source, /private_?key|mnemonic|signTransaction|sendRawTransaction|eth_sendTransaction|signMessage/i)
    t.notMatch(source, /openSession|resolveExternal|createHmac/)
  }
})
