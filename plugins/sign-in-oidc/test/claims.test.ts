/** Tests roles and organisations by claims: what users get, and what nobody gets. */
import { onDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { type ClaimRule, evaluateRules, isDomainAllowed, roleChangeOf } from '../src/claims.ts'
import { administrator, describeOutcome, entryOf, providersKey, startWithProvider, system } from './fixtures/product.ts'

const rule = (more: Partial<ClaimRule> = {}): ClaimRule => ({
  claim: 'groups',
  form: 'list',
  value: 'ops',
  roleId: 1,
  orgId: null,
  ...more,
})

t.test('a claim that says nothing neither grants nor removes a role', async (t) => {
  const cases: readonly (readonly [name: string, rule: ClaimRule, claims: object, result: string])[] = [
    ['the value is in the list', rule(), { groups: ['dev', 'ops'] }, 'grants'],
    ['the list does not contain the value', rule(), { groups: ['dev'] }, 'removes'],
    ['an empty list', rule(), { groups: [] }, 'removes'],
    ['no claim', rule(), {}, 'keeps'],
    ['too many groups', rule(), { _claim_names: { groups: 'src1' }, hasgroups: true }, 'keeps'],
    ['a text instead of a list', rule(), { groups: 'ops' }, 'keeps'],
    ['an object', rule(), { groups: { ops: true } }, 'keeps'],
    ['a list with a number', rule(), { groups: ['ops', 7] }, 'keeps'],
    ['null', rule(), { groups: null }, 'keeps'],
    ['another case', rule(), { groups: ['OPS'] }, 'removes'],
    ['a part of the value', rule(), { groups: ['ops-readers', '/ops'] }, 'removes'],
    ['a nested claim', rule({ claim: 'realm_access.roles' }), { realm_access: { roles: ['ops'] } }, 'grants'],
    ['a name with dots', rule({ claim: 'https://a.example/roles' }), { 'https://a.example/roles': ['ops'] }, 'grants'],
    ['a member of all objects', rule({ claim: 'constructor.name', form: 'text', value: 'Object' }), {}, 'keeps'],
    ['a text', rule({ form: 'text' }), { groups: 'ops' }, 'grants'],
    ['a list instead of a text', rule({ form: 'text' }), { groups: ['ops'] }, 'keeps'],
    ['the names of an object', rule({ form: 'names' }), { groups: { ops: { org: '7' } } }, 'grants'],
    ['a list instead of an object', rule({ form: 'names' }), { groups: ['ops'] }, 'keeps'],
  ]
  const results = cases.map(([name, one, claims]) => {
    const result = evaluateRules([one], claims as never)
    const { remove } = roleChangeOf(result, [1], [1], new Set())
    const { add } = roleChangeOf(result, [], [], new Set())
    return `${name}: ${add.length > 0 ? 'grants' : remove.length > 0 ? 'removes' : 'keeps'}`
  })
  t.strictSame(
    results,
    cases.map(([name, , , result]) => `${name}: ${result}`),
  )
})

t.test('rules only remove roles that rules have granted', async (t) => {
  const none = { roleIds: new Set<number>(), keptRoleIds: new Set<number>() }
  t.strictSame(roleChangeOf(none, [1, 2], [2], new Set()), { add: [], remove: [2], granted: [] })
  t.strictSame(roleChangeOf(none, [1, 2], [2], new Set([2])).remove, [], 'another identity grants it')
  const given = { roleIds: new Set([1, 3]), keptRoleIds: new Set<number>() }
  t.strictSame(roleChangeOf(given, [1], [], new Set()), { add: [3], remove: [], granted: [3] }, 'given by hand before')
})

t.test('Google confirms an address of an organisation only with the claim hd', async (t) => {
  const google = 'https://accounts.google.com'
  const email = { address: 'anna@company.example', isVerified: true }
  const isAllowed = (issuer: string, hostedDomain: unknown) =>
    isDomainAllowed(['company.example'], { issuer, email, hostedDomain })
  t.strictSame(
    [undefined, 'company.example', 'COMPANY.example', 'another.example', ['company.example']].map((hostedDomain) =>
      isAllowed(google, hostedDomain),
    ),
    [false, true, true, false, false],
  )
  t.equal(isAllowed('https://id.example.com', undefined), true)
})

/** A product with a provider, roles and a rule that gives the group `ops` a role. */
async function startWithRoles(...[t, db, settings]: Parameters<typeof startWithProvider>) {
  const product = await startWithProvider(t, db, settings)
  const token = await product.adminToken()
  const post = (url: string, body: object, as = token) => product.call('POST', url, { token: as, body })
  const createRole = async (code: string, permissions: readonly string[] = [], dataScope = 'self') =>
    (await post('/api/v1/admin/iam/roles', { code, name: code, dataScope, permissions })).data.id as number
  const addRule = (body: object, as = token) =>
    post('/api/v1/admin/oidc/rules', { provider: 'kc', claim: 'groups', value: 'ops', ...body }, as)
  const rolesAfter = async (name: string, claims: object) => {
    product.provider.users.set(name, claims as Record<string, unknown>)
    const { data } = await product.signIn('kc', name)
    const me = await product.call('GET', '/api/v1/iam/users/me', { token: data.accessToken })
    return me.data.roles.map(({ code }: { readonly code: string }) => code).sort()
  }
  return { ...product, token, post, createRole, addRule, rolesAfter }
}

onDatabase(t, 'roles follow the claims at each sign-in, and roles of an administrator stay', async (t, db) => {
  const { createRole, addRule, rolesAfter, accounts, call, token, db: database } = await startWithRoles(t, db)
  const [ops, manual] = [await createRole('ops'), await createRole('manual')]
  t.equal(describeOutcome(await addRule({ roleId: ops })), '200')
  t.equal(describeOutcome(await addRule({ claim: 'department', form: 'text', value: 'sales', orgId: 42 })), '200')
  t.strictSame(await rolesAfter('anna', { preferred_username: 'anna', groups: ['dev'] }), [])
  t.strictSame(await rolesAfter('anna', { groups: ['ops'], department: 'sales' }), ['ops'])
  const anna = await accounts.findByUsername('anna')
  t.equal(anna?.orgId, 42)
  const [row] = await database.query<{ version: number }>('select version from iam_user where id = ?', [anna?.id ?? 0])
  const body = { roleIds: [ops, manual], version: Number(row?.version) }
  t.equal(describeOutcome(await call('PUT', `/api/v1/admin/iam/users/${anna?.id}`, { token, body })), '200')
  t.strictSame(await rolesAfter('anna', { groups: 'ops' }), ['manual', 'ops'], 'a text is no statement')
  t.strictSame(await rolesAfter('anna', { _claim_names: { groups: 'src1' } }), ['manual', 'ops'], 'overage')
  t.strictSame(await rolesAfter('anna', {}), ['manual', 'ops'])
  t.strictSame(await rolesAfter('anna', { groups: ['dev'] }), ['manual'])
  t.equal((await accounts.findByUsername('anna'))?.orgId, 42, 'the organisation stays')
  const audit = await call('GET', `/api/v1/admin/iam/audits?targetType=user&targetId=${anna?.id}&size=50`, { token })
  t.match(audit.body, /sign-in-oidc/, 'the audit names the plugin')
})

onDatabase(t, 'a missing claim can reject the sign-in', async (t, db) => {
  const product = await startWithRoles(t, db, { entry: { missingClaim: 'reject' } })
  await product.addRule({ roleId: await product.createRole('ops') })
  product.provider.users.set('anna', { groups: ['ops'] })
  t.equal(describeOutcome(await product.signIn('kc', 'anna')), '200')
  product.provider.users.set('anna', {})
  t.equal(describeOutcome(await product.signIn('kc', 'anna')), '401 sign-in-oidc.rejected')
  t.strictSame(await product.rejections(), ['sign-in-oidc.claim-missing'])
})

onDatabase(t, 'claims that the ID token lacks are read from the user info of the same user', async (t, db) => {
  const { provider, rolesAfter, addRule, createRole, ...product } = await startWithRoles(t, db)
  await addRule({ roleId: await createRole('ops') })
  provider.changeClaims(({ groups: _, ...claims }) => claims)
  t.strictSame(await rolesAfter('anna', { groups: ['ops'] }), ['ops'])
  provider.rewrite.set('/me', (body) => JSON.stringify({ ...JSON.parse(body), sub: 'another', groups: ['ops'] }))
  t.equal(describeOutcome(await product.signIn('kc', 'bert')), '401 sign-in-oidc.rejected', 'of another user')
})

onDatabase(t, 'the writer of a rule needs everything that it grants', async (t, db) => {
  const { createRole, addRule, accounts, call, token, ...product } = await startWithRoles(t, db)
  const weak = await createRole('weak', ['iam:user:view'], 'all')
  const strong = await createRole('strong', ['iam:user:view', 'iam:user:delete'], 'all')
  const writer = await createRole(
    'writer',
    ['sign-in-oidc:rule:save', 'sign-in-oidc:rule:view', 'iam:user:view'],
    'all',
  )
  const password = administrator.password
  await accounts.create({ username: 'writer', password, roleIds: [writer] }, system)
  const logIn = async (username: string) =>
    (await call('POST', '/api/v1/auth/login', { body: { username, password } })).data.accessToken
  const as = await logIn('writer')
  const superAdmin = await product.db.query<{ id: number }>("select id from iam_role where code = 'super-admin'")
  const superAdminId = Number(superAdmin[0]?.id)
  const beyond = '403 iam.beyond-own-authority'
  const cases: readonly (readonly [name: string, body: object, as: string, outcome: string])[] = [
    ['a role with a right that the writer lacks', { roleId: strong }, as, beyond],
    ['super-admin, by the writer', { roleId: superAdminId }, as, '404 iam.role-unknown'],
    ['super-admin, by a super administrator', { roleId: superAdminId }, token, '404 iam.role-unknown'],
    ['an unknown role', { roleId: 4711 }, as, '404 iam.role-unknown'],
    ['a role and an organisation', { roleId: weak, orgId: 1 }, as, '400 sign-in-oidc.rule-target'],
    ['nothing', {}, as, '400 sign-in-oidc.rule-target'],
    ['an unknown provider', { provider: 'nobody', roleId: weak }, as, '404 sign-in-oidc.provider-unknown'],
    ['an own right', { roleId: weak }, as, '200'],
    ['the strong role, by an administrator', { value: 'root', roleId: strong }, token, '200'],
  ]
  const outcomes: string[] = []
  for (const [name, body, by] of cases) outcomes.push(`${name}: ${describeOutcome(await addRule(body, by))}`)
  t.strictSame(
    outcomes,
    cases.map(([name, , , outcome]) => `${name}: ${outcome}`),
  )
  const { data } = await call('GET', '/api/v1/admin/oidc/rules', { token: as })
  const strongRule = data.items.find(({ roleId }: { readonly roleId: number }) => roleId === strong)
  const remove = (id: number, by: string) => call('DELETE', `/api/v1/admin/oidc/rules/${id}`, { token: by })
  t.equal(describeOutcome(await remove(strongRule.id, as)), beyond, 'a removal takes the role away')
  t.equal(describeOutcome(await remove(strongRule.id, token)), '200')
})

onDatabase(t, 'a rule applies only to the issuer and the client for which it was written', async (t, db) => {
  const { addRule, createRole, accounts, centre, provider, call, token } = await startWithRoles(t, db)
  await addRule({ roleId: await createRole('ops') })
  const preview = async () => {
    const body = { provider: 'kc', claims: JSON.stringify({ sub: 'x', groups: ['ops'] }) }
    return (await call('POST', '/api/v1/admin/oidc/preview', { token, body })).data
  }
  t.equal((await preview()).outcome, 'new-account')
  t.equal((await preview()).roleIds.length, 1)
  const entry = { ...entryOf(provider, { createAccounts: true }), clientId: 'another-client' }
  const change = { key: providersKey, action: 'set', value: { kc: entry } }
  await centre.save([change] as never, { actor: { name: 'test' } })
  t.strictSame((await preview()).roleIds, [], 'the client that decides about the claims is another one')
  const back = { key: providersKey, action: 'set', value: { kc: entryOf(provider, { createAccounts: false }) } }
  await centre.save([back] as never, { actor: { name: 'test' } })
  t.equal((await preview()).outcome, 'account-missing')
  const clerk = await createRole('clerk', ['sign-in-oidc:rule:view'], 'org')
  const logIn = { username: 'clerk', password: administrator.password }
  await accounts.create({ ...logIn, roleIds: [clerk] }, system)
  const { data } = await call('POST', '/api/v1/auth/login', { body: logIn })
  const asClerk = { token: data.accessToken, body: { provider: 'kc', claims: '{"sub":"x"}' } }
  t.equal(
    describeOutcome(await call('POST', '/api/v1/admin/oidc/preview', asClerk)),
    '403 iam.scope-all-required',
    'the result tells whether an account exists',
  )
  const invalid = { token, body: { provider: 'kc', claims: '[1]' } }
  t.equal(describeOutcome(await call('POST', '/api/v1/admin/oidc/preview', invalid)), '400 sign-in-oidc.claims-invalid')
})
