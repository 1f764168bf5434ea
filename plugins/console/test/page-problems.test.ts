/** Tests that the check of a page reports each problem once. */
import type { PageAction, PageDeclaration } from '@plinth/admin'
import type { Schema } from '@plinth/http'
import t from 'tap'
import type { Operation } from '../src/admin/operations.ts'
import { objectPages } from '../src/admin/outcomes.ts'
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
const outcome: Schema = { type: 'string', enum: ['accepted', 'rejected'] }
const object = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: 'object', properties })
const list = (items: Schema): Schema => ({ type: 'array', items })
const operations = new Map([
  operation('getShops', 'GET', { data: { type: 'array', items: { type: 'object', properties: { id } } } }),
  operation('postPause', 'POST', { params }),
  operation('postResume', 'POST', { params }),
  operation('postSend', 'POST', { params, data: object({ id, result: object({ outcome }) }) }),
  operation('postSendAll', 'POST', { params, data: list(object({ id, result: object({ outcome }) })) }),
  operation('postClean', 'POST', { params, data: object({ shops: list(object({ outcome })) }) }),
  operation('postCheck', 'POST', { params, data: object({ passed: { type: 'boolean' } }) }),
  operation('postExport', 'POST', { params, data: object({ status: { enum: ['queued', 'failed'] } }) }),
  operation('postRun', 'POST', {
    params,
    data: object({ lastRun: object({ outcome: { anyOf: [outcome, { type: 'null' }] } }) }),
  }),
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

t.test('an action whose successful response can be a failure declares which values are good', async (t) => {
  const problemsWith = (change: Partial<PageAction>) =>
    findPageProblems(
      [
        {
          kind: 'list',
          id: 'shops',
          title: text('Shops'),
          source: 'getShops',
          key: 'id',
          columns: [{ field: 'id', as: 'text' }],
          actions: [{ operation: 'postSend', label: text('Label'), params: { id: { field: 'id' } }, ...change }],
        },
      ],
      operations,
      new Set(),
    )
  const missing = (name: string, field: string) => [
    `page "shops": the result of ${name} can be a failure ("${field}"): declare in "outcome" which values are good`,
  ]
  t.strictSame(problemsWith({}), missing('postSend', 'result.outcome'))
  t.strictSame(problemsWith({ operation: 'postSendAll' }), missing('postSendAll', 'result.outcome'))
  t.strictSame(problemsWith({ operation: 'postClean' }), missing('postClean', 'shops.outcome'))
  t.strictSame(problemsWith({ operation: 'postCheck' }), missing('postCheck', 'passed'))
  t.strictSame(problemsWith({ operation: 'postExport' }), missing('postExport', 'status'))
  t.strictSame(problemsWith({ operation: 'postRun' }), [], 'the outcome of an earlier run')
  t.strictSame(problemsWith({ outcome: { field: 'result.outcome', good: ['accepted'] } }), [])
  t.strictSame(problemsWith({ operation: 'postClean', outcome: { field: 'shops.outcome', good: ['accepted'] } }), [])
  t.strictSame(problemsWith({ outcome: { field: 'outcome', good: ['accepted'] } }), [
    'page "shops": "outcome" is not a member of the result',
  ])
  t.strictSame(problemsWith({ outcome: { field: 'result.outcome', good: ['accpeted'] } }), [
    'page "shops": "accpeted" is not a value of "result.outcome"',
  ])
})

t.test('an action whose response contains the id of another object leads to it', async (t) => {
  const logId: Schema = { ...id, type: ['integer', 'null'] as never }
  const own = new Map([
    ...operations,
    operation('postSendAgain', 'POST', { params, path: '/shops/{id}/send', data: object({ id, logId }) }),
    operation('getShop', 'GET', { params, path: '/shops/{id}', data: object({ id, logId: id }) }),
    operation('postShop', 'POST', { path: '/shops', data: object({ id, logId }) }),
  ])
  const shop: PageDeclaration = {
    kind: 'detail',
    id: 'shop',
    title: text('Shop'),
    source: 'getShop',
    param: 'id',
    sections: [{ columns: [{ field: 'logId', as: 'reference', of: { labels: 'logs', page: 'shop' } }] }],
  }
  const shops = {
    kind: 'list' as const,
    id: 'shops',
    title: text('Shops'),
    source: 'getShops',
    key: 'id',
    columns: [{ field: 'id', as: 'text' as const }],
  }
  const problemsWith = (change: Partial<PageAction>) => {
    const action = { operation: 'postSendAgain', label: text('Label'), params: { id: { field: 'id' } }, ...change }
    return findPageProblems([shop, { ...shops, actions: [action] }], own, new Set(['logs']))
  }
  t.strictSame(problemsWith({}), [
    'page "shops": the result of postSendAgain contains "logId": link to the page "shop" in "created", or show it in "answer"',
  ])
  t.strictSame(problemsWith({ created: { page: 'shop', field: 'logId' } }), [])
  t.strictSame(problemsWith({ answer: [{ field: 'logId', as: 'text' }] }), [])
  const pageOf = objectPages([shop], own)
  const found = [...own.values()].flatMap((one) => (pageOf(one) === undefined ? [] : [one.id]))
  t.strictSame(found, ['postShop'])
  t.strictSame(pageOf(own.get('postShop') as Operation), { page: 'shop', field: 'id' })
})

t.test('an optional action whose plugin is not loaded has no problem', async (t) => {
  const page = (optional: boolean): PageDeclaration => ({
    kind: 'list',
    id: 'shops',
    title: text('Shops'),
    source: 'getShops',
    key: 'id',
    columns: [{ field: 'id', as: 'text' }],
    actions: [{ operation: 'postMissing', label: text('Label'), params: {}, optional }],
    forms: [{ operation: 'postMissing', title: text('Title'), fields: ['name'], optional }],
  })
  t.strictSame(findPageProblems([page(true)], operations, new Set()), [])
  t.strictSame(findPageProblems([page(false)], operations, new Set()), [
    'page "shops": no loaded plugin provides the operation "postMissing"',
  ])
})

t.test('the parts of a list that changes rows are checked', async (t) => {
  const state: Schema = { type: 'string', enum: ['open', 'done'], title: 'State', 'x-title': text('State') }
  const note: Schema = { type: 'string', title: 'Note', 'x-title': text('Note') }
  const body = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
    ...object(properties),
    required: [...required],
  })
  const report = object({ outcome, valid: id, created: id, problems: list(object({})) })
  const known = new Map([
    operation('getJobs', 'GET', { data: list(object({ id, state, note })), query: { state } }),
    operation('putJob', 'PUT', { params, body: body({ note, state }) }),
    operation('putWholeJob', 'PUT', { params, body: body({ note, state }, ['note', 'state']) }),
    operation('postJob', 'POST', { body: body({ note }) }),
    operation('postJobs', 'POST', { body: body({ rows: list(object({})), mode: note }, ['rows']), data: report }),
    operation('postDone', 'POST', { params }),
  ])
  const problemsWith = (change: object) =>
    findPageProblems(
      [
        {
          kind: 'list',
          id: 'jobs',
          title: text('Jobs'),
          source: 'getJobs',
          key: 'id',
          columns: [
            { field: 'id', as: 'text' },
            { field: 'state', as: 'status' },
            { field: 'note', as: 'text' },
          ],
          actions: [{ operation: 'postDone', label: text('Done'), params: { id: { field: 'id' } }, leadsTo: 'done' }],
          create: { operation: 'postJob', title: text('New'), fields: ['note'] },
          ...change,
        },
      ],
      known,
      new Set(),
    ).map((problem) => problem.replace('page "jobs": ', ''))
  const edit = { operation: 'putJob', title: text('Change'), params: { id: { field: 'id' } }, fields: ['note'] }
  const correct = { edit, board: { column: 'state', cards: ['note'] }, import: { operation: 'postJobs' } }
  t.strictSame(problemsWith(correct), [])
  const cases: readonly (readonly [object, readonly string[]])[] = [
    [
      { edit: { ...edit, operation: 'putWholeJob', fields: ['note', 'state'] } },
      ['"edit" sends one field, but putWholeJob requires note, state'],
    ],
    [{ edit: { ...edit, reason: 'required' } }, ['putJob needs a dialog, so it cannot change a cell']],
    [{ edit, columns: [{ field: 'id', as: 'text' }] }, ['"note" in "edit" is not a column of the list']],
    [
      { board: { column: 'note' } },
      [
        '"note" has no list of values, so it cannot be a board',
        '"note" is not a parameter of getJobs',
        '"done" in "leadsTo" is not a value of "note"',
      ],
    ],
    [{ board: { column: 'state', cards: ['name'] } }, ['"name" in "board" is not a column of the list']],
    [
      { board: { column: 'state' }, actions: [] },
      ['"board" needs an action with "leadsTo", otherwise no card can be moved'],
    ],
    [{ import: { operation: 'postJobs' }, create: undefined }, ['"import" needs "create", whose fields the rows have']],
    [
      { import: { operation: 'postJob' } },
      [
        ...['rows', 'mode'].map((name) => `"${name}" is not a member of the body of postJob`),
        ...['outcome', 'valid', 'created', 'problems'].map(
          (name) => `"${name}" is not a member of the result of postJob`,
        ),
      ],
    ],
  ]
  for (const [change, problems] of cases) t.strictSame(problemsWith(change), problems)
})
