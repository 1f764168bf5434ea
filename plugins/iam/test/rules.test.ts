import { throwsWith } from '@plinth/dev/testing'
import type { ConfigView } from '@plinth/kernel'
import fc from 'fast-check'
import t from 'tap'
import { hasAllGrantsOf, type RoleGrant, resolveGrants } from '../src/access/role-grants.ts'
import {
  loginLookupOf,
  maskIdentifier,
  normalizeOptionalEmail,
  normalizeOptionalMobile,
  normalizeUsername,
} from '../src/accounts/account-names.ts'
import type { keys } from '../src/config.ts'
import type { DataScope } from '../src/contract.ts'
import { PasswordHasher } from '../src/passwords/password-hash.ts'
import { PasswordPolicy, passwordPattern } from '../src/passwords/password-policy.ts'
import { isTokenShaped, newAccessToken, tokenHash } from '../src/sessions/sessions.ts'

const rejectedFor = (reason: string) => ({ reason }) as unknown as Error
const code = fc.constantFrom('a:view', 'a:save', 'b:view', 'b:save', 'c:run')
const role = fc.record({
  code: fc.constantFrom('one', 'two', 'three', 'super-admin'),
  dataScope: fc.constantFrom<DataScope>('all', 'org', 'self'),
  permissions: fc.uniqueArray(code),
})

t.test('K-006 K-007 permission resolution equals a naive model', (t) => {
  const mayNaively = (roles: readonly RoleGrant[], permission: string) => {
    for (const { code, permissions } of roles) {
      if (code === 'super-admin') return true
      for (const held of permissions) if (held === permission) return true
    }
    return false
  }
  const scopeNaively = (roles: readonly RoleGrant[]) => {
    const scopes = roles.map((role) => (role.code === 'super-admin' ? 'all' : role.dataScope))
    return scopes.includes('all') ? 'all' : scopes.includes('org') ? 'org' : 'self'
  }
  fc.assert(
    fc.property(fc.array(role, { maxLength: 5 }), code, (roles, permission) => {
      const grants = resolveGrants(roles)
      return (
        grants.can(permission) === mayNaively(roles, permission) &&
        grants.dataScope === scopeNaively(roles) &&
        grants.isSuperAdmin === roles.some((role) => role.code === 'super-admin')
      )
    }),
    { numRuns: 1000 },
  )
  t.end()
})

t.test('a user who covers another can do all that the other can, and adding a role never removes a permission', (t) => {
  const all = ['a:view', 'a:save', 'b:view', 'b:save', 'c:run']
  fc.assert(
    fc.property(fc.array(role, { maxLength: 4 }), fc.array(role, { maxLength: 4 }), (mine, theirs) => {
      const [holder, other, both] = [resolveGrants(mine), resolveGrants(theirs), resolveGrants([...mine, ...theirs])]
      const canAll = all.every((permission) => holder.can(permission) || !other.can(permission))
      return (
        (!hasAllGrantsOf(holder, other) || canAll) &&
        hasAllGrantsOf(both, holder) &&
        hasAllGrantsOf(both, other) &&
        hasAllGrantsOf(holder, holder)
      )
    }),
    { numRuns: 1000 },
  )
  t.end()
})

t.test('A28 I-111 I-112 password policies', (t) => {
  const values: Record<string, unknown> = {
    'platform.iam.password.policy': 'low',
    'platform.iam.password.min-length': 8,
    'platform.iam.password.pattern': '',
  }
  const listeners: Record<string, (value: never) => unknown> = {}
  const verifiers: typeof listeners = {}
  const policy = new PasswordPolicy({
    get: (name: string) => values[name],
    onChange: (name: string, listener: (value: never) => unknown) => {
      listeners[name] = listener
    },
    onVerify: (name: string, verifier: (value: never) => unknown) => {
      verifiers[name] = verifier
    },
  } as unknown as ConfigView<typeof keys>)
  const setPattern = (pattern: string) => {
    values['platform.iam.password.pattern'] = pattern
    listeners['platform.iam.password.pattern']?.(pattern as never)
  }
  const rules = (password: string, username?: string) => policy.check(password, username).map(({ rule }) => rule)

  t.same(rules('123456'), [])
  t.same(rules('12345'), ['too-short'])
  t.same(rules('😀😀😀😀😀😀'), [], 'characters, not code units')
  t.same(rules('x'.repeat(129)), ['too-long'])
  values['platform.iam.password.policy'] = 'medium'
  t.same(rules('abcdefg1'), [], 'a changed policy counts at once')
  t.same(rules('abcdefgh'), ['needs-letter-and-digit'])
  t.same(rules('1234567'), ['too-short', 'needs-letter-and-digit'])
  values['platform.iam.password.policy'] = 'high'
  t.same(rules('kR7-vulkan-sieb'), [])
  t.same(rules('vulkansieb1'), ['needs-three-kinds'])
  for (const known of ['P@ssw0rd2024', 'Password123!', 'Qwertyuiop1!', 'Welcome2024!', 'Aa1!Aa1!Aa1!']) {
    t.same(rules(known), ['well-known'], known)
  }
  t.same(rules('Mia.Miller-77', 'mia.miller'), ['well-known'], 'the own name')
  values['platform.iam.password.policy'] = 'custom'
  setPattern('^\\p{Lu}')
  t.same(rules('Abcdefgh'), [])
  t.same(rules('abcdefg'), ['too-short', 'pattern'])
  values['platform.iam.password.min-length'] = 10
  t.same(rules('Abcdefgh'), ['too-short'])
  t.same(rules('Abcdefghij'), [])
  values['platform.iam.password.min-length'] = 8
  throwsWith(t, () => policy.assertAllowed('abcdefg'), rejectedFor('iam.password-refused'))
  for (const wrong of ['(', '(a)\\1', 'x(?=y)', '^(?=a)b|c', 'a{2000}', '^(?=a)*b']) {
    for (const requested of [listeners, verifiers]) {
      const ask = () => requested['platform.iam.password.pattern']?.(wrong as never)
      throwsWith(t, ask, { code: 'PLINTH_IAM_PASSWORD_PATTERN' }, wrong)
    }
  }
  t.end()
})

t.test('A28 a password pattern has the meaning of ECMAScript, and its time is limited for every pattern', (t) => {
  const condition = fc.constantFrom(
    '',
    '(?=.*\\d)',
    '(?=.*[)(|a])',
    '(?!.*(aa|bb))',
    '(?=[^\\]]*b)',
    '(?!(?:a|b)$)',
    '(?=.*\\p{Lu})',
  )
  const start = fc.array(condition, { maxLength: 3 }).map((parts) => `^${parts.join('')}`)
  const rest = fc.constantFrom('', '.{2,}', 'a.*', '(?:a|b)+$', '[\\w|-]+', '.*\\|', '\\p{L}*', '(a|b){1,3}')
  const source = fc.oneof(
    fc.tuple(start, rest).map((parts) => parts.join('')),
    rest,
    fc.constant('a|^b'),
  )
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', 'Ä', '😀', '|', '(', ')', ']', '-'), maxLength: 8 })
  fc.assert(
    fc.property(source, text, (pattern, password) => {
      return passwordPattern(pattern)(password) === new RegExp(pattern, 'u').test(password)
    }),
    { numRuns: 3000 },
  )
  const before = process.cpuUsage()
  for (const pattern of [
    '^(a+)+$',
    '^(?=(a|a)*b)a',
    '^(a|a?)+$',
    '(.*)*x',
    `^${'a?'.repeat(100)}${'a'.repeat(100)}$`,
  ]) {
    passwordPattern(pattern)(`${'a'.repeat(127)}!`)
  }
  const { user, system } = process.cpuUsage(before)
  t.ok(user + system < 2e6, `five patterns that go back in the text cost ${(user + system) / 1000} ms`)
  t.end()
})

t.test('hashes verify only their own password', async (t) => {
  const settings = { memoryBytes: 64 * 1024, passes: 1, concurrency: 2 }
  const hasher = new PasswordHasher(settings)
  const property = fc.asyncProperty(fc.string({ unit: 'binary' }), fc.string(), async (password, other) => {
    const stored = await hasher.hash(password)
    const [right, wrong] = [await hasher.verify(stored, password), await hasher.verify(stored, `${password}${other}.`)]
    return right.matches && !right.outdated && !wrong.matches
  })
  await fc.assert(property, { numRuns: 100 })

  t.test('two Unicode forms of one character are the same password', async (t) => {
    const composed = '\u00e9t\u00e9-2024'
    t.ok((await hasher.verify(await hasher.hash(composed), composed.normalize('NFD'))).matches)
  })
  t.test('without a stored hash, or with a damaged one, a hash is computed anyway', async (t) => {
    for (const stored of [null, '', 'x', '$argon2id$v=19$m=99999999999,t=1,p=1$AAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA']) {
      const before = hasher.computed
      t.same(await hasher.verify(stored, 'x'), { matches: false, outdated: false })
      t.equal(hasher.computed, before + 1)
    }
  })
  t.test('two hashes run at a time, a hundred wait, and further ones are rejected', async (t) => {
    const busy = new PasswordHasher(settings)
    const results = await Promise.allSettled(Array.from({ length: 110 }, () => busy.hash('x')))
    const rejected = results.filter((result) => result.status === 'rejected')
    t.equal(rejected.length, 8)
    t.hasStrict(rejected[0], { reason: { code: '503', reason: 'iam.busy' } })
    t.match(await busy.hash('x'), /^\$argon2id/, 'and then it goes on')
  })
})

t.test('names, addresses, masks and tokens', (t) => {
  t.same(normalizeUsername(' Mia '), { username: 'Mia', usernameKey: 'mia' })
  t.equal(normalizeUsername('ＡＢ').usernameKey, 'ab', 'wide letters are the same letters')
  for (const bad of ['a', '', 'a b', 'a@b', '-ab', 'a\u0000b', 'x'.repeat(65), '\u202eab']) {
    throwsWith(t, () => normalizeUsername(bad), rejectedFor('iam.username-invalid'), JSON.stringify(bad))
  }
  t.same(normalizeOptionalEmail('Mia@Example.ORG'), { email: 'Mia@Example.ORG', emailKey: 'mia@example.org' })
  t.same(normalizeOptionalEmail(''), { email: null, emailKey: null })
  for (const bad of ['a', 'a@', '@b', 'a@b@c', 'a@-b.c', '"a"@b.c', 'a(b)@c.d', '.a@b.c', `${'a'.repeat(65)}@b.c`]) {
    throwsWith(t, () => normalizeOptionalEmail(bad), rejectedFor('iam.email-invalid'), bad)
  }
  for (const spelled of ['+49 (170) 123-4567', '0049 170 1234567', '+49 (0) 170 1234567']) {
    t.equal(normalizeOptionalMobile(spelled), '+491701234567', spelled)
  }
  t.equal(normalizeOptionalMobile('170 1234567'), '1701234567', 'of a country that nobody knows')
  throwsWith(t, () => normalizeOptionalMobile('12ab'), rejectedFor('iam.mobile-invalid'))
  t.same(
    [loginLookupOf('MIA'), loginLookupOf('M@b.c'), loginLookupOf('\u0000')],
    [{ usernameKey: 'mia' }, { emailKey: 'm@b.c' }, undefined],
  )
  t.same(['secret', '', '\u0001x', '😀x'].map(maskIdentifier), ['s***', '', '?***', '😀***'])

  const token = newAccessToken()
  t.ok(isTokenShaped(token))
  t.ok(Buffer.from(token.slice(7), 'base64url').length >= 32, 'at least 256 bits')
  t.not(newAccessToken(), token)
  t.equal(tokenHash('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      loginLookupOf(text)
      return !isTokenShaped(text) && [...maskIdentifier(text)].length <= 4
    }),
  )
  t.end()
})

t.test('a name may use each script that UAX 31 recommends', (t) => {
  // Two letters of each script in table 5 of UAX #31.
  const letters = [
    '\u0645\u0646',
    '\u0561\u0562',
    '\u0995\u0996',
    '\u3105\u3106',
    '\u0437\u043e',
    '\u0915\u0916',
    '\u1200\u1208',
    '\u10d0\u10d1',
    '\u03b1\u03b3',
    '\u0a95\u0a96',
    '\u0a15\u0a16',
    '\u5f20\u4e09',
    '\ud64d\uae38',
    '\u05d0\u05d1',
    '\u3042\u3044',
    '\u0c95\u0c96',
    '\u30a2\u30a4',
    '\u1780\u1781',
    '\u0e81\u0e82',
    'ab',
    '\u0d15\u0d16',
    '\u1000\u1001',
    '\u0b15\u0b16',
    '\u0d9a\u0d9b',
    '\u0b95\u0b99',
    '\u0c15\u0c16',
    '\u0780\u0781',
    '\u0e01\u0e02',
    '\u0f40\u0f41',
  ]
  for (const text of letters) t.equal(normalizeUsername(text + text).username, text + text)
  t.end()
})

t.test('names use only one script, and folding is idempotent', (t) => {
  const good = [
    'mia_2',
    'M\u00fcller',
    '\u0437\u043e\u044f',
    '\u5f20\u4e09',
    '\u3042\u30ad\u6f22\u30fc',
    '\ud64d\u6d2a',
    '\u0645\u0646\u06499',
    '007',
  ]
  for (const name of good) t.equal(normalizeUsername(name).username, name.normalize('NFKC'), name)
  const mixed = ['\u0430dmin', 'adm\u03b9n', '\u5f20san', 'a\u0660', '\u03b1\u0432', '\u13a0\u13a1']
  for (const name of mixed) throwsWith(t, () => normalizeUsername(name), rejectedFor('iam.username-mixed-script'), name)
  const letters = fc.string({
    unit: fc.constantFrom(...'a\u0131i\u0130\u00df\u1e9eIsS\u212a\ufb03\u01f0k'),
    minLength: 2,
    maxLength: 20,
  })
  fc.assert(
    fc.property(letters, (text) => {
      let forms: ReturnType<typeof normalizeUsername>
      try {
        forms = normalizeUsername(text)
      } catch {
        return true
      }
      const again = [forms.usernameKey, forms.username.toUpperCase(), forms.username.toLowerCase()]
      return again.every((name) => {
        const key = loginLookupOf(name)
        return key === undefined || ('usernameKey' in key && key.usernameKey === forms.usernameKey)
      })
    }),
    { numRuns: 500 },
  )
  t.end()
})
