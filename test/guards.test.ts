/**
 * Lists the callers of guards. A guard that is tested through one caller may be missing in another one, so a test runs
 * the rejection through each caller. A new caller fails this test until such a test lists it.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ESTree, parseSync, Visitor } from 'rolldown/utils'
import t from 'tap'

const root = join(import.meta.dirname, '..')

type Position = Pick<ESTree.Span, 'start' | 'end'>

interface Guard {
  /** Name of the function; private methods with `#`. */
  readonly name: string
  /** Start of the paths of the files that can call it. */
  readonly within: string
  /** Methods and functions that use it, by file. A caller that uses it twice is listed twice. */
  readonly callers: Readonly<Record<string, readonly string[]>>
  /** File and title of the test that runs the rejection through each caller. */
  readonly test: readonly [file: string, title: string]
}

const registry = 'plugins/console/src/admin/page-registry.ts'
const pageAccess = [
  'plugins/console/test/page-access.test.ts',
  'the back office offers what the access guard allows, by permission and by data scope',
] as const
const rules = 'plugins/notification-rules/src/rules.ts'
const ruleScope = [
  'plugins/notification-rules/test/data-scope.test.ts',
  'a rule that alerts or escalates beyond the data scope of an operator is hidden from him',
] as const

const guards: readonly Guard[] = [
  {
    name: 'obstacleOf',
    within: '',
    callers: {
      'plugins/web3-settlement/src/execution/auto-retry.ts': ['#retry'],
      'plugins/web3-settlement/src/execution/overdue-reviews.ts': ['#handleOne'],
    },
    test: ['plugins/web3-settlement/test/attempts.test.ts', 'no automatic action settles a review with the obstacle'],
  },
  { name: 'hasAccess', within: '', callers: { [registry]: ['lookups', '#withOwners', 'mayCall'] }, test: pageAccess },
  {
    name: 'mayCall',
    within: 'plugins/console/src',
    callers: {
      [registry]: [
        'groups',
        'hasList',
        'charts',
        'tiles',
        'attention',
        'attention',
        'callable',
        '#readerOf',
        '#readerOf',
      ],
    },
    test: pageAccess,
  },
  {
    name: 'assertMayAccess',
    within: 'plugins/console/src',
    callers: { [registry]: ['page', 'labels'] },
    test: pageAccess,
  },
  {
    name: '#postBatch',
    within: 'plugins/money/src',
    callers: { 'plugins/money/src/ledger/ledger-service.ts': ['batch'] },
    test: [
      'plugins/money/test/postings.test.ts',
      'a batch beyond its asset, its accounts or its size is rejected and posts nothing',
    ],
  },
  {
    name: '#assertWithin',
    within: 'plugins/member-points/src',
    callers: { 'plugins/member-points/src/orders/order-rewards.ts': ['refunded', 'refunded'] },
    test: [
      'plugins/member-points/test/rewards.test.ts',
      'refunds of more than the paid amount are rejected, before and after the payment',
    ],
  },
  {
    name: 'rowsOf',
    within: 'plugins/notification-rules/src',
    callers: { 'plugins/notification-rules/src/rule-operations.ts': ['ruleOperations'], [rules]: ['list', 'all'] },
    test: ruleScope,
  },
  {
    name: '#takeQuota',
    within: 'plugins/iam/src/verification',
    callers: { 'plugins/iam/src/verification/codes.ts': ['send', 'check'] },
    test: [
      'plugins/iam/test/verification.test.ts',
      'no code is sent or checked if only the store of the limits is down',
    ],
  },
]

/**
 * Returns the names of the methods, functions and constants that use a function, in the order of the source. Imports,
 * exports and the function itself are omitted.
 */
function callersIn(file: string, source: string, name: string): readonly string[] {
  const declared: { readonly name: string; readonly start: number; readonly end: number }[] = []
  const uses: number[] = []
  const use = (node: Position, found: string) => void (found === name && uses.push(node.start))
  const declare = ({ start, end }: Position, key: ESTree.Node | null) => {
    if (key?.type === 'Identifier') declared.push({ name: key.name, start, end })
    if (key?.type === 'PrivateIdentifier') declared.push({ name: `#${key.name}`, start, end })
  }
  new Visitor({
    FunctionDeclaration: (node) => declare(node, node.id),
    VariableDeclarator: (node) => declare(node, node.id),
    MethodDefinition: (node) => declare(node, node.key),
    PropertyDefinition: (node) => declare(node, node.key),
    Identifier: (node) => use(node, node.name),
    PrivateIdentifier: (node) => use(node, `#${node.name}`),
  }).visit(parseSync(file, source).program)
  return uses.flatMap((at) => {
    // Outer declarations come first, so a function inside a method belongs to the method.
    const caller = declared.find(({ start, end }) => start <= at && at < end)
    return caller === undefined || caller.name === name ? [] : [caller.name]
  })
}

const sources = globSync('{kernel,plugins/*,examples/*}/src/**/*.ts', { cwd: root })
  .map((file) => ({ file: file.replaceAll('\\', '/'), text: readFileSync(join(root, file), 'utf8') }))
  .sort((a, b) => (a.file < b.file ? -1 : 1))

for (const { name, within, callers, test } of guards) {
  t.test(`a test runs the rejection by ${name} through each caller`, async (t) => {
    const found = sources
      .filter(({ file, text }) => file.startsWith(within) && text.includes(name.replace('#', '')))
      .map(({ file, text }) => [file, callersIn(file, text, name)] as const)
    t.same(Object.fromEntries(found.filter(([, names]) => names.length > 0)), callers)
    const [file, title] = test
    t.ok(readFileSync(join(root, file), 'utf8').includes(title), `${file} contains the test`)
  })
}
