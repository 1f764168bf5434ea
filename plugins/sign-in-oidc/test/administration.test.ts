/** Tests the operations for administrators, and effects outside of this plugin. */
import { readdir, readFile } from 'node:fs/promises'
import { until } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import mailPlugin from '@plinth/mail'
import t from 'tap'
import {
  administrator,
  describeOutcome,
  newBrowser,
  oidc,
  redirectUri,
  startWithProvider,
  system,
} from './fixtures/product.ts'

onDatabase(t, 'an administrator sees the providers, and tests one', async (t, db) => {
  const { call, adminToken, provider, start } = await startWithProvider(t, db, { entry: { title: 'Company' } })
  const token = await adminToken()
  const list = async () => (await call('GET', '/api/v1/admin/oidc/providers', { token })).data.items
  const [item] = await list()
  t.strictSame(item, {
    id: 'kc',
    title: 'Company',
    issuer: provider.issuer,
    clientId: 'plinth',
    enabled: true,
    createAccounts: true,
    freshProof: true,
    redirectUri: redirectUri('kc'),
    backchannelLogoutUri: 'https://app.example.com/api/v1/auth/oidc/kc/backchannel-logout',
    status: 'ready',
    problem: null,
  })
  provider.takeover.set('*', (_request, response) => void response.writeHead(500).end())
  const test = async (id: string) => call('POST', `/api/v1/admin/oidc/providers/${id}/test`, { token })
  t.equal((await test('kc')).data.status, 'unavailable')
  t.equal(describeOutcome(await test('nobody')), '404 sign-in-oidc.provider-unknown')
  provider.takeover.delete('*')
  t.equal((await test('kc')).data.status, 'ready')
  t.equal(describeOutcome(await start('kc')), '200')
  const shown = await call('GET', '/api/v1/auth/oidc/providers')
  t.strictSame(shown.data.providers, [{ id: 'kc', title: 'Company', passwordHidden: false }])
})

onDatabase(t, 'an administrator removes a linked identity within the own scope and authority', async (t, db) => {
  const { call, adminToken, accounts, signIn, identity } = await startWithProvider(t, db)
  const token = await adminToken()
  const signedIn = (await signIn('kc', 'anna')).data.accessToken
  const anna = (await call('GET', '/api/v1/iam/users/me', { token: signedIn })).data
  await call('POST', '/api/v1/admin/iam/roles', {
    token,
    body: {
      code: 'clerk',
      name: 'clerk',
      dataScope: 'self',
      permissions: ['sign-in-oidc:identity:delete', 'sign-in-oidc:identity:view'],
    },
  })
  const roles = await call('GET', '/api/v1/admin/iam/roles', { token })
  const clerkRole = roles.data.items.find(({ code }: { readonly code: string }) => code === 'clerk')
  await accounts.create({ username: 'clerk', password: administrator.password, roleIds: [clerkRole.id] }, system)
  const logIn = { body: { username: 'clerk', password: administrator.password } }
  const clerk = (await call('POST', '/api/v1/auth/login', logIn)).data.accessToken
  const list = async (as: string) => (await call('GET', '/api/v1/admin/oidc/identities', { token: as })).data.items
  const [row] = await list(token)
  t.equal(row.userId, anna.id)
  t.strictSame(await list(clerk), [], 'out of the data scope')
  const remove = (as: string) => call('DELETE', `/api/v1/admin/oidc/identities/${row.id}`, { token: as })
  t.equal(describeOutcome(await remove(clerk)), '404 sign-in-oidc.identity-unknown')
  t.equal(describeOutcome(await remove(token)), '409 iam.last-sign-in-way')
  const body = { password: 'Another-horse-17' }
  t.equal(describeOutcome(await call('PUT', `/api/v1/admin/iam/users/${anna.id}/password`, { token, body })), '200')
  const again = (await signIn('kc', 'anna')).data.accessToken
  t.equal(describeOutcome(await remove(token)), '200')
  t.equal(describeOutcome(await call('GET', '/api/v1/iam/users/me', { token: again })), '401 iam.token-invalid')
  t.strictSame(await list(token), [])
  const audit = await call('GET', '/api/v1/admin/iam/audits?action=oidc-identity.unlink', { token })
  t.equal(audit.data.items.length, 1)
  t.equal(await identity.sessionsOpenedBy(anna.id, 'oidc').then(({ length }) => length), 0)
})

onDatabase(t, 'parallel first sign-ins create one account', async (t, db) => {
  const product = await startWithProvider(t, db)
  const browsers = [newBrowser(), newBrowser(), newBrowser()]
  const responses = await Promise.all(browsers.map((browser) => product.respond('kc', 'anna', browser)))
  const results = await Promise.all(
    responses.map(({ search }, index) => product.callback('kc', search, { jar: browsers[index]?.jar as never })),
  )
  t.strictSame(results.map(describeOutcome), ['200', '200', '200'])
  const rows = await product.db.query<{ user_id: number }>('select user_id from oidc_identity')
  t.equal(rows.length, 1)
  const bound = await product.db.query('select id from iam_external_identity')
  t.equal(bound.length, 1)
})

onDatabase(t, 'the facts of a deleted user are removed', async (t, db) => {
  const product = await startWithProvider(t, db, { plugins: [eventsPlugin] })
  const signedIn = (await product.signIn('kc', 'anna')).data.accessToken
  const anna = (await product.call('GET', '/api/v1/iam/users/me', { token: signedIn })).data
  const token = await product.adminToken()
  const deleted = await product.call('DELETE', `/api/v1/admin/iam/users/${anna.id}`, { token })
  t.equal(describeOutcome(deleted), '200')
  const left = async () =>
    (await product.db.query('select id from oidc_identity union all select id from oidc_sign_in')).length
  await until(async () => (await left()) === 0, 'the facts are removed')
  t.equal(describeOutcome(await product.signIn('kc', 'anna')), '200', 'the next sign-in creates another account')
})

onDatabase(t, 'the owner gets a mail when an identity is linked, and when it is removed', async (t, db) => {
  const directory = `${db.directory}/mails`
  const product = await startWithProvider(t, db, {
    plugins: [eventsPlugin, mailPlugin],
    config: {
      'platform.mail.driver': 'file',
      'platform.mail.from': 'noreply@app.example.com',
      'platform.mail.file.directory': directory,
    },
  })
  const { call, accounts } = product
  const { password } = administrator
  await accounts.create({ username: 'bert', email: 'bert@example.com', password }, system)
  const logIn = { body: { username: 'bert', password } }
  const token = (await call('POST', '/api/v1/auth/login', logIn)).data.accessToken
  const mails = async () => {
    const names = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith('.eml')).toSorted()
    const texts = await Promise.all(names.map((name) => readFile(`${directory}/${name}`, 'utf8')))
    return texts.map((text) => /^Subject: (.*)$/m.exec(text)?.[1]).sort()
  }
  const browser = newBrowser()
  const begun = await call('POST', `${oidc}/kc/link/start`, { token, jar: browser.jar })
  const { search: parameters } = await browser.provider.signIn(begun.data.url, 'bert')
  const linked = await call('POST', `${oidc}/kc/link/callback`, { token, jar: browser.jar, body: { parameters } })
  t.equal(describeOutcome(linked), '200')
  await until(async () => (await mails()).length === 1, 'a mail about the link')
  const [identity] = (await call('GET', `${oidc}/identities`, { token })).data.identities
  t.equal(describeOutcome(await call('DELETE', `${oidc}/identities/${identity.id}`, { token })), '200')
  await until(async () => (await mails()).length === 2, 'a mail about the removal')
  t.strictSame(await mails(), ['test: a sign-in provider was linked', 'test: a sign-in provider was removed'])
})
