/**
 * Tests that every configuration key that a guard reads needs a permission of its own. A guard is a source file that
 * rejects callers (an error with the code 401, 403 or 429), limits attempts, or implements an extension point of the
 * sign-in, and the files of the same package that it imports. A new key in such a file fails this test until it declares
 * `permission`, or until the list below says why it decides nothing.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startForTest } from '@plinth/dev/testing'
import { kernel } from '@plinth/kernel'
import type { CatalogueEntry } from '@plinth/kernel/host'
import { type ESTree, parseSync, Visitor } from 'rolldown/utils'
import t from 'tap'
import { fullProduct, inMemoryConfig } from './effects/product.ts'

const root = join(import.meta.dirname, '..')

/** Keys that a guard reads and that decide about no access, with the reason. */
const harmless: Readonly<Record<string, string>> = {
  'platform.database.type': 'The installer proposes the connection.',
  'platform.iam.auth.login.verification.email.default-scene': 'Only a name in the message and its limits.',
  'platform.iam.auth.login.verification.email.subject': 'Text of the message.',
  'platform.iam.auth.login.verification.email.template': 'Text of the message.',
  'platform.iam.auth.login.verification.sms.default-country': 'Completes numbers that users enter.',
  'platform.iam.auth.login.verification.sms.default-scene': 'Only a name in the message and its limits.',
  'platform.iam.auth.login.verification.sms.sign-name': 'Text of the message.',
  'platform.iam.auth.login.verification.sms.template': 'Text of the message.',
  'platform.iam.auth.login.verification.sms.template-code': 'Text of the message.',
  'platform.iam.token.cache-size': 'A token that is not cached is read again.',
  'platform.install.connection-trial': 'The key cannot be saved in the back office.',
  'platform.storage.base-url': 'Part of URLs; their signature does not depend on it.',
  'platform.storage.disks.local.enabled': 'A disk that is off stores and returns nothing.',
  'platform.storage.disks.public.base-url': 'Part of URLs of public files.',
  'platform.storage.disks.public.enabled': 'A disk that is off stores and returns nothing.',
  'platform.storage.max-file-size': 'A quota per user limits the total size.',
}

/** Members and types by which a file takes part in a decision about a caller. */
const marks: ReadonlySet<string> = new Set([
  'LoginGuard',
  'RouteGuard',
  'RenameGuard',
  'ProofMethod',
  'ConsumeRequest',
  'beforeAttempt',
  'beforeSession',
  'assertAllAllowed',
  'assertUsernameAllowed',
])

interface Facts {
  readonly identifiers: ReadonlySet<string>
  /** Texts, in which `*` stands for a part that is only known at run time. */
  readonly texts: readonly string[]
  /** Names of errors that the file creates. */
  readonly errors: readonly string[]
  readonly imports: readonly string[]
}

function factsOf(file: string, source: string): Facts {
  const constants = new Map<string, string>()
  const identifiers = new Set<string>()
  const texts: string[] = []
  const errors: string[] = []
  const imports: string[] = []
  const textOf = (node: ESTree.Expression): string | undefined => {
    if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
    if (node.type === 'TSAsExpression') return textOf(node.expression)
    if (node.type !== 'TemplateLiteral') return undefined
    return node.quasis
      .map(({ value }, index) => {
        const part = node.expressions[index]
        const known = part?.type === 'Identifier' ? constants.get(part.name) : undefined
        return `${value.cooked ?? ''}${part === undefined ? '' : (known ?? '*')}`
      })
      .join('')
  }
  const { program } = parseSync(file, source)
  new Visitor({
    VariableDeclarator: ({ id, init }) => {
      const text = init === null ? undefined : textOf(init)
      if (id.type === 'Identifier' && text !== undefined) constants.set(id.name, text)
    },
  }).visit(program)
  new Visitor({
    Identifier: ({ name }) => void identifiers.add(name),
    Literal: (node) => void texts.push(textOf(node) ?? ''),
    TemplateLiteral: (node) => void texts.push(textOf(node) ?? ''),
    CallExpression: ({ callee, arguments: [first] }) => {
      if (callee.type !== 'Identifier' || callee.name !== 'businessError' || first === undefined) return
      if (first.type !== 'SpreadElement') errors.push(textOf(first) ?? '*')
    },
    ImportDeclaration: ({ source: from, importKind }) => {
      if (importKind !== 'type' && from.value.startsWith('.')) imports.push(join(dirname(file), from.value))
    },
  }).visit(program)
  return { identifiers, texts, errors, imports }
}

const isDeclaration = (file: string) => /\/(config|declarations|plugin|parts|index)\.ts$/.test(file)

/**
 * Returns the keys without a permission that guards read, with the files.
 *
 * @param rejecting names of the errors with the code 401, 403 or 429
 */
function openKeys(
  sources: ReadonlyMap<string, string>,
  catalogue: readonly Pick<CatalogueEntry, 'key' | 'permission'>[],
  rejecting: ReadonlySet<string>,
): readonly { readonly key: string; readonly file: string }[] {
  const facts = new Map([...sources].map(([file, source]) => [file, factsOf(file, source)]))
  const guards = [...facts].filter(
    ([file, { identifiers, errors }]) =>
      !isDeclaration(file) &&
      ([...identifiers].some((name) => marks.has(name)) || errors.some((name) => rejecting.has(name))),
  )
  const imported = guards.flatMap(([, { imports }]) => imports)
  const read = new Set([...guards.map(([file]) => file), ...imported.filter((file) => !isDeclaration(file))])
  const open = catalogue.filter(({ permission }) => permission === undefined)
  return [...read].flatMap((file) => {
    const texts = facts.get(file)?.texts.filter((text) => text.startsWith('platform.')) ?? []
    const patterns = texts.map(
      (text) =>
        new RegExp(
          `^${text
            .split('*')
            .map((part) => part.replaceAll('.', '\\.'))
            .join('.+')}$`,
        ),
    )
    return open.flatMap(({ key }) => (patterns.some((pattern) => pattern.test(key)) ? [{ key, file }] : []))
  })
}

const isRejecting = (code: string) => ['401', '403', '429'].includes(code)

t.test('each configuration key that a guard reads needs a permission of its own', async (t) => {
  const running = await startForTest(fullProduct, { roles: ['cli'], set: inMemoryConfig })
  t.teardown(() => running.stop('test ended'))
  const { catalogue } = running.config
  const rejecting = new Set(
    running
      .service(kernel)
      .plugins.flatMap(({ businessErrors = [] }) => businessErrors)
      .flatMap(({ codes }) => Object.entries(codes).flatMap(([name, code]) => (isRejecting(code) ? [name] : []))),
  )
  t.ok(rejecting.has('token-invalid') && rejecting.has('proof-required'))
  const files = globSync('{plugins,examples}/*/src/**/*.ts', { cwd: root })
  const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
  const found = openKeys(sources, catalogue, rejecting)
  const keys = [...new Set(found.map(({ key }) => key))].sort()
  t.strictSame(keys, Object.keys(harmless).sort(), 'declare `permission` for a key that decides about access')

  await t.test('a planted guard and a planted key are found', async (t) => {
    const file = 'plugins/planted/src/guard.ts'
    const planted = [...catalogue, { key: 'platform.planted.max-failures' }, { key: 'platform.planted.color' }]
    const texts: Readonly<Record<string, string>> = {
      'a literal': `throw businessError('token-invalid', config.get('platform.planted.max-failures'))`,
      'a template': `const at = 'platform.planted'; export const g: LoginGuard = { beforeAttempt: () => config.get(\`\${at}.max-failures\`) }`,
      'a part that is only known at run time': `limiter.assertAllAllowed(config.get(\`platform.planted.\${name}\`))`,
      'no guard': `config.get('platform.planted.max-failures')`,
    }
    const results = Object.entries(texts).map(([name, source]) => [
      name,
      openKeys(new Map([[file, source]]), planted, rejecting).map(({ key }) => key),
    ])
    t.strictSame(results, [
      ['a literal', ['platform.planted.max-failures']],
      ['a template', ['platform.planted.max-failures']],
      ['a part that is only known at run time', ['platform.planted.max-failures', 'platform.planted.color']],
      ['no guard', []],
    ])
    const helper = 'plugins/planted/src/limits.ts'
    const guard = `import { limit } from './limits.ts'; throw businessError('token-invalid', limit(config))`
    const split = new Map([
      [file, guard],
      [helper, `export const limit = (config) => config.get('platform.planted.max-failures')`],
    ])
    t.strictSame(openKeys(split, planted, rejecting), [{ key: 'platform.planted.max-failures', file: helper }])
    // A guard of the product that loses its permission is found too.
    const weakened = catalogue.map(({ permission, ...entry }) =>
      entry.key === 'platform.iam.fresh-proof.enabled' || permission === undefined ? entry : { ...entry, permission },
    )
    const lost = openKeys(sources, weakened, rejecting).map(({ key }) => key)
    t.ok(lost.includes('platform.iam.fresh-proof.enabled'))
  })
})
