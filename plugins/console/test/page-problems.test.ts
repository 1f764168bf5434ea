/** Tests that the check of a page reports each problem once. */
import type { PageAction, PageDeclaration } from '@plinth/admin'
import type { Schema } from '@plinth/http'
import t from 'tap'
import type { Operation } from '../src/admin/operations.ts'
import { findPageProblems } from '../src/admin/page-faults.ts'

const text = (en: string) => ({ en, 'zh-CN': `${en} 中文` })
const id: Schema = { type: 'integer', title: 'Id', 'x-title': text('Id') }

const access = { permission: 'shop:edit', scope: 'none' } as const
const operation = (name: string, method: string, facts: Partial<Operation> = {}): readonly [string, Operation] => [
  name,
  {
    id: name,
    method,
    path: `/${name}`,
    access,
    params: {},
    query: {},
    takesReason: false,
    body: undefined,
    data: undefined,
    helps: new Map(),
    ...facts,
  },
]
const params = { id }
const operations = new Map([
  operation('getShops', 'GET', { data: { type: 'array', items: { type: 'object', properties: { id } } } }),
  operation('postPause', 'POST', { params }),
  operation('postResume', 'POST', { params }),
])

const problemsOf = (change: Partial<PageAction>) => {
  const shared = { label: text('Label'), params: { id: { field: 'id' } }, ...change } as const
  const page: PageDeclaration = {
    kind: 'list',
    id: 'shops',
    title: text('Shops'),
    source: 'getShops',
    key: 'id',
    columns: [{ field: 'id', as: 'text' }],
    actions: [
      { ...shared, operation: 'postPause', undo: 'postResume' },
      { ...shared, operation: 'postResume', undo: 'postPause' },
    ],
  }
  return findPageProblems([page], operations, new Set())
}

t.test('two actions that undo each other have no problem', async (t) => {
  t.strictSame(problemsOf({ confirm: text('Shop {{id}}.') }), [])
})

t.test('a problem of an action and of its undo is reported once', async (t) => {
  const cases: readonly (readonly [Partial<PageAction>, readonly string[]])[] = [
    [{ confirm: text('{{name}}.') }, ['"name" in "confirm" is not a member of the result']],
    [{ confirm: text('{id}.') }, ['"confirm" contains {id}: placeholders have two braces, {{id}}']],
    [{ when: { open: [true] } }, ['"open" is not a member of the result']],
    [
      { reason: 'required' },
      ['postPause needs a dialog, so it has no undo', 'postResume needs a dialog, so it has no undo'],
    ],
  ]
  for (const [change, problems] of cases)
    t.strictSame(
      problemsOf(change),
      problems.map((problem) => `page "shops": ${problem}`),
    )
})
