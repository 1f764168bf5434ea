import { assertMembers } from '@plinth/dev/testing'
/** Tests attacks by an administrator who may only set up chains and who controls an RPC server. */

import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createDatabase } from '@plinth/dev/testing/database'
import { omitUndefined } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { type ApiResponse, startWalletLogin, system } from './fixtures/product.ts'
import { startStubNode, validSignatureResult } from './fixtures/stub-node.ts'

const anna = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const contract = `0x${'c0'.repeat(20)}`
const fresh = `0x${'fe'.repeat(20)}`
const mainId = 7
const [chains, me] = ['/api/v1/admin/web3/chains', '/api/v1/iam/users/me']
const password = 'correct horse battery staple'
const planted = (name: string) => `PLANTED-${name}-4be1d7`

/** Starts a local server that counts its requests. */
async function startServer(t: Test, answer: (response: ServerResponse) => void) {
  let hits = 0
  const server = createServer((_, response) => {
    hits++
    answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return { port: (server.address() as AddressInfo).port, hits: () => hits }
}

t.test(
  'an operator who may only set up chains can read no secret and no file, and cannot sign in as another user',
  { timeout: 600_000 },
  async (t) => {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const file = join(db.directory, 'secret.txt')
    writeFileSync(file, planted('file'))
    // The product has no rule that allows requests to the server `internal`. The servers `redirecting` and `evil`
    // belong to the attacker.
    const internal = await startServer(t, (response) => response.end(planted('internal-service')))
    let location = ''
    const redirecting = await startServer(t, (response) => response.writeHead(302, { location }).end())
    const honest = [await startStubNode(t, mainId), await startStubNode(t, mainId)]
    const evil = await startStubNode(t, mainId, { eth_call: validSignatureResult })
    const lines: string[] = []
    const { call, challenge, login, signIn, adminToken, accounts } = await startWalletLogin(t, db, {
      logger: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
      config: {
        'platform.web3.contract-wallets.chain': 'main',
        'platform.web3.rpc.breaker.failures': 100,
        'platform.wallet-login.rate-limit.address-max-attempts': 0,
        'platform.wallet-login.rate-limit.ip-max-attempts': 0,
        'platform.outgoing-http.allow-http': true,
        // Represents servers on the internet, including those of the attacker, so the product may call these ports.
        'platform.outgoing-http.allowed-hosts': [...honest, evil, redirecting].map(({ port }) => `127.0.0.1:${port}`),
      },
    })
    const root = await adminToken()
    const secret = planted('provider-key')
    const providers = honest.map(({ url }, at) => ({ id: `node-${at}`, url: `${url}${secret}` }))
    const main = (await call('POST', chains, { token: root, body: { name: 'main', chainId: mainId, providers } })).data
    const [superAdmin] = (await call('GET', '/api/v1/admin/iam/roles?size=1', { token: root })).data.items
    /** Two administrators sign in with wallets: one with a key, and one with a contract. */
    const grant = async ({ data }: ApiResponse) => {
      const { id } = (await call('GET', me, { token: data.accessToken })).data
      const granted = await call('PUT', `/api/v1/admin/iam/users/${id}`, {
        token: root,
        body: { roleIds: [superAdmin.id] },
      })
      t.equal(granted.code, '200')
    }
    await grant(await signIn(anna))
    for (const node of honest) node.results['eth_call'] = validSignatureResult
    const requested = (await challenge(contract, { chainId: mainId })).data
    await grant(
      await login({ challengeId: requested.challengeId, address: contract, signature: `0x${'11'.repeat(65)}` }),
    )
    for (const node of honest) node.results['eth_call'] = '0x'

    const role = { code: 'chains', name: 'Chains', dataScope: 'all', permissions: ['web3:chain:save'] }
    const { id: roleId } = (await call('POST', '/api/v1/admin/iam/roles', { token: root, body: role })).data
    await accounts.create({ username: 'mallory', password, roleIds: [roleId] }, system)
    const own = await call('POST', '/api/v1/auth/login', { body: { username: 'mallory', password } })
    const token: string = own.data.accessToken

    const outcomes = new Map<string, number>()
    const shown: string[] = []
    let signIns = 0
    /** Makes one call as the attacker and checks the response. */
    const attack = async (kind: string, answer: Promise<ApiResponse>): Promise<ApiResponse> => {
      const result = await answer
      outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1)
      shown.push(JSON.stringify([result, result.headers]))
      if (result.data?.accessToken !== undefined) signIns++
      return result
    }
    const act = (kind: string, method: string, url: string, body?: unknown) =>
      attack(kind, call(method, url, omitUndefined({ token, body })))
    /** Attempts to sign in with invalid signatures of every length, for every wallet and every chain of a challenge. */
    const signInAttempts = async (kind: string) => {
      for (const address of [anna.address, contract, fresh]) {
        for (const chainId of [mainId, 666, 1]) {
          for (const signature of [`0x${'11'.repeat(65)}`, '0x', `0x${'22'.repeat(700)}`]) {
            const { challengeId } = (await challenge(address, { chainId })).data
            await attack(kind, login({ challengeId, address, signature }))
          }
        }
      }
    }

    const evilProvider = { id: 'evil', url: evil.url }
    const base = { name: 'evil', chainId: 666, providers: [evilProvider] }
    evil.results['eth_chainId'] = '0x29a'
    const ownChain = await act('chain of the attacker', 'POST', chains, base)
    t.equal(ownChain.code, '200', 'the attacker may have a chain')
    const at = `${chains}/${ownChain.data.id}`

    const targets = [
      `http://127.0.0.1:${internal.port}/`,
      `http://localhost:${internal.port}/`,
      `http://[::1]:${internal.port}/`,
      `http://0.0.0.0:${internal.port}/`,
      `http://2130706433:${internal.port}/`,
      `http://0x7f000001:${internal.port}/`,
      `http://127.1:${internal.port}/`,
      `http://[::ffff:127.0.0.1]:${internal.port}/`,
      'http://169.254.169.254/latest/',
      'http://10.0.0.1/',
      'http://192.168.0.1/',
      'http://172.16.0.1/',
      'http://100.64.0.1/',
      'http://[fd00::1]/',
      `file://${file}`,
      'file:///etc/passwd',
      'ftp://127.0.0.1/',
      'gopher://127.0.0.1/',
      `data:text/plain,${secret}`,
      `unix://${file}`,
      `http://user:pass@127.0.0.1:${evil.port}/`,
      'ws://127.0.0.1/',
      'javascript:1',
      '//x',
      file,
      `http://127.0.0.1:${evil.port}@127.0.0.1:${internal.port}/`,
      `http://127.0.0.1:${internal.port}#@127.0.0.1:${evil.port}/`,
    ]
    for (const [n, url] of targets.entries()) {
      const created = await act('internal addresses', 'POST', chains, {
        ...base,
        name: `t-${n}`,
        chainId: 1000 + n,
        providers: [{ id: 'x', url }],
      })
      if (created.code === '200') await act('internal addresses', 'POST', `${chains}/${created.data.id}/verify`)
      await act('internal addresses', 'PUT', at, { providers: [evilProvider, { id: 'x', url }] })
    }
    await act('internal addresses', 'PUT', at, { providers: [evilProvider] })

    for (const target of [`http://127.0.0.1:${internal.port}/`, `file://${file}`, 'http://169.254.169.254/']) {
      location = target
      const there = { id: 'redirecting', url: `http://127.0.0.1:${redirecting.port}/` }
      t.equal((await act('redirects', 'PUT', at, { providers: [there] })).code, '200')
      assertMembers(t, (await act('redirects', 'POST', `${at}/verify`)).data, [{ fault: 'http-status', head: null }])
    }
    t.ok(redirecting.hits() > 0)
    await act('redirects', 'PUT', at, { providers: [evilProvider] })

    const lies: Record<string, unknown>[] = [
      { eth_blockNumber: `0x${(2 ** 40).toString(16)}` },
      { eth_blockNumber: `0x${'f'.repeat(64)}` },
      { eth_blockNumber: file },
      { eth_chainId: `0x${mainId.toString(16)}` },
      { eth_chainId: new Error(`<script>alert("${file}")</script>`) },
      { eth_blockNumber: { toString: 'x', __proto__: { polluted: true } } },
      { eth_chainId: 'x'.repeat(100_000) },
      {
        eth_call: validSignatureResult,
        eth_getTransactionReceipt: { status: '0x1', transactionHash: `0x${'12'.repeat(32)}`, logs: [] },
      },
    ]
    for (const lie of lies) {
      const before = { ...evil.results }
      Object.assign(evil.results, lie)
      await act('lies of the own node', 'POST', `${at}/verify`)
      for (const finality of ['safe', 'finalized', 'depth']) await act('lies of the own node', 'PUT', at, { finality })
      Object.assign(evil.results, before)
    }

    const protectedChain = `${chains}/${main.id}`
    for (const given of [
      [evilProvider],
      [
        { id: 'node-0', url: evil.url },
        { id: 'node-1', url: evil.url },
      ],
      [{ id: 'node-0' }, { id: 'node-1', url: evil.url }],
      [{ id: 'node-0' }, { id: 'node-1' }, evilProvider],
      [evilProvider, { id: 'evil-2', url: evil.url }, { id: 'node-0' }],
      [{ id: 'node-1' }, { id: 'node-0' }],
      [{ id: 'node-0' }],
      [],
    ]) {
      const answer = await act('providers of contract wallets', 'PUT', protectedChain, { providers: given })
      t.hasStrict(answer, { code: '403', data: { reason: 'web3.contract-wallets-protected' } })
      const both = await act('providers of contract wallets', 'PUT', protectedChain, {
        providers: given,
        enabled: true,
        version: main.version,
      })
      t.equal(both.code, '403')
    }
    evil.results['eth_call'] = validSignatureResult
    await signInAttempts('sign-ins')
    for (const chain of [
      { name: 'main', chainId: 667 },
      { name: 'other', chainId: mainId },
      { name: 'MAIN', chainId: 668 },
      { name: 'evm', chainId: 669 },
    ]) {
      await act('second chains', 'POST', chains, { ...base, ...chain })
    }
    for (const change of [{ name: 'main' }, { chainId: mainId }, { name: 'main', chainId: mainId }])
      await act('second chains', 'PUT', at, change)
    evil.results['eth_chainId'] = `0x${mainId.toString(16)}`
    await signInAttempts('sign-ins after second chains')

    for (const explorerTransactionUrl of [
      'javascript:alert({hash})',
      'data:text/html,<script>{hash}</script>',
      'https://x.example/"><script>/{hash}',
      'https://x.example/<img src=x onerror=alert(1)>/{hash}',
      'https://u:p@x.example/{hash}',
      'vbscript:{hash}',
      'https://{hash}.example/',
      'https://x.example/{hash}" onmouseover="alert(1)',
      `file://${file}?{hash}`,
      'https://x.example/\u202E{hash}',
      'https://x.example/\u0000{hash}',
      "https://x.example/'onclick={hash}<",
      'x{hash}',
    ]) {
      const answer = await act('explorers with script', 'PUT', at, { explorerTransactionUrl })
      t.not(answer.code, '200', explorerTransactionUrl)
    }
    for (const id of ['../secret', '<script>', 'a b', '', 'x'.repeat(33), 'node-0\u0000', '__proto__']) {
      await act('names of providers', 'PUT', at, { providers: [{ id, url: evil.url }] })
      await act('names of providers', 'PUT', at, { providers: [{ id }] })
    }
    for (const url of [
      chains,
      protectedChain,
      at,
      '/api/v1/admin/iam/users',
      '/api/v1/admin/iam/audits',
      '/api/v1/admin/iam/login-audits',
      '/api/v1/admin/iam/roles',
      '/api/v1/admin/system-config/keys',
      '/api/v1/admin/system-config/export',
      `${chains}/../../..${file}`,
      `${chains}/${main.id}%2f..%2f..${file}`,
      '/api/v1/admin/open-platform/apps',
    ]) {
      const answer = await act('reads without permission', 'GET', url).catch(() => undefined)
      t.not(answer?.code, '200', url)
    }
    for (const version of [0, main.version + 5])
      await act('conflicts', 'PUT', protectedChain, { enabled: false, version })
    t.equal(
      (await act('a disabled chain', 'PUT', protectedChain, { enabled: false })).code,
      '200',
      'an outage is in reach',
    )
    t.equal((await act('a disabled chain', 'PUT', protectedChain, { enabled: true })).code, '403', 'and its end is not')
    await signInAttempts('sign-ins after all')

    const attempts = [...outcomes.values()].reduce((sum, count) => sum + count, 0)
    const master = readFileSync(join(db.directory, 'master.key'), 'utf8').trim()
    const everything = [...shown, ...lines].join('\n')
    const secrets = [secret, planted('internal-service'), master, password].filter((one) => everything.includes(one))
    const files = [planted('file'), 'root:x:0:0'].filter((one) => everything.includes(one))
    t.comment(
      `${attempts} attacks: ${secrets.length} secrets, ${files.length} files, ${signIns} sign-ins, ${internal.hits()} requests to the own network`,
    )
    for (const [kind, count] of outcomes) t.comment(`${count} ${kind}`)
    t.ok(attempts >= 240, `${attempts} attacks`)
    t.strictSame(
      { secrets, files, signIns, internal: internal.hits() },
      { secrets: [], files: [], signIns: 0, internal: 0 },
    )
    t.equal((await signIn(anna)).code, '200', 'the owner of the wallet signs in as before')
  },
)
