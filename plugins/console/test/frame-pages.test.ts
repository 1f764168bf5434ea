/** Tests the declaration of pages in frames: their problems, and what the browser receives. */
import { adminFrame, type FramePageDeclaration } from '@plinth/admin'
import { assertMembers } from '@plinth/dev/testing'
import type { Schema } from '@plinth/http'
import t from 'tap'
import { frameDocument } from '../src/admin/frames/frame-document.ts'
import { frameView } from '../src/admin/frames/frame-view.ts'
import type { Operation } from '../src/admin/operations.ts'
import { findPageProblems } from '../src/admin/page-faults.ts'

const text = (en: string) => ({ en, 'zh-CN': `${en} 中文` })
const object = (properties: Record<string, Schema>): Schema => ({ type: 'object', properties })
const titled = (title: string): Schema => ({ type: 'string', title })

function operation(id: string, method: string, facts: Partial<Operation> = {}): readonly [string, Operation] {
  const access = { permission: 'shop:view', scope: 'none' } as const
  const rest = { path: '/x', access, params: {}, query: {}, takesReason: false, body: undefined, helps: new Map() }
  return [id, { id, method, data: object({}), ...rest, ...facts }]
}

const operations = new Map([
  operation('getItems', 'GET'),
  operation('getItem', 'GET', {
    params: { id: titled('Item') },
    data: object({ id: titled('Item'), name: titled('Name') }),
  }),
  operation('putName', 'PUT', { params: { id: titled('Item') }, body: object({ name: titled('Name') }) }),
  operation('putVersion', 'PUT', { params: { id: titled('Item') }, body: object({ version: { type: 'integer' } }) }),
  operation('putOrder', 'PUT', { params: { orderNo: titled('Order') }, body: object({ name: titled('Name') }) }),
  operation('postSend', 'POST', { data: object({ outcome: { enum: ['accepted', 'rejected'] } }) }),
  operation('putItem', 'PUT', {
    params: { id: titled('Item') },
    body: object({ name: titled('Name'), tags: { type: 'array', title: 'Tags' }, isNew: { type: 'boolean' } }),
  }),
  operation('getAll', 'GET', {
    params: { id: titled('Item') },
    data: object({ name: titled('Name'), tags: titled('T') }),
  }),
  operation('getVersion', 'GET', { params: { id: titled('Item') }, data: object({ version: { type: 'integer' } }) }),
  operation('getAccount', 'GET', { access: 'user' }),
  operation('postLogin', 'POST', { access: 'public' }),
  operation('getFile', 'GET', { data: undefined }),
  operation('getKeys', 'GET', {
    data: object({ items: { type: 'array', items: object({ clientSecret: titled('Secret') }) } }),
  }),
  operation('putTwice', 'PUT', { params: { id: titled('Item') }, body: object({ id: titled('Other item') }) }),
])

const page = adminFrame(
  'getItems' as never,
  { id: 'shop.map', title: text('Map'), script: 'plinth.toast("x")' } as never,
)
const problemsOf = (members: Partial<FramePageDeclaration>) =>
  findPageProblems([{ ...page, ...members }], operations, new Map())

const item = { field: 'id', as: 'text' } as const
const write = (id: string, members: object = {}) => ({
  operation: id,
  label: text('Write'),
  columns: [item],
  ...members,
})

t.test('a page in a frame reports each problem of its declaration, and how to correct it', async (t) => {
  t.strictSame(problemsOf({}), [])
  t.strictSame(
    problemsOf({ reads: ['getItem'], writes: [write('putItem', { columns: [item, { field: 'name', as: 'text' }] })] }),
    [],
  )
  t.strictSame(problemsOf({ writes: [write('putName', { undo: 'getItem' })] }), [])
  const cases: readonly (readonly [Partial<FramePageDeclaration>, string])[] = [
    [{ source: 'getNothing' }, 'no loaded plugin provides the operation "getNothing"'],
    [{ reads: ['getNothing'] }, 'no loaded plugin provides the operation "getNothing"'],
    [{ reads: ['putItem'] }, '"putItem" is not a GET operation: move it to "writes"'],
    [{ writes: [write('getItem')] }, '"getItem" only reads: move it to "reads"'],
    [{ reads: ['getItems'] }, 'the operation "getItems" is declared twice: remove one of them'],
    [{ reads: ['getAccount'] }, '"getAccount" needs no permission, so a frame must not call it: remove it'],
    [
      { writes: [write('postLogin', { columns: [] })] },
      '"postLogin" needs no permission, so a frame must not call it: remove it',
    ],
    [{ reads: ['getFile'] }, '"getFile" returns no envelope, so a frame cannot call it: remove it'],
    [{ reads: ['getKeys'] }, '"getKeys" returns "clientSecret", which may be a secret: remove the operation'],
    [
      { writes: [write('putTwice')] },
      '"putTwice" has two members of one name in its request, so a frame cannot call it: remove it',
    ],
    [
      { writes: [write('putItem', { columns: [item, { field: 'price', as: 'text' }] })] },
      '"price" is not a member of the request of putItem',
    ],
    [
      { writes: [write('putName', { columns: [] })] },
      'the user cannot read which row "id" of putName is: add a column for it to the write',
    ],
    [
      { writes: [write('postSend', { columns: [] })] },
      'the result of postSend can be a failure ("outcome"): declare in "outcome" which values are good',
    ],
    [{ writes: [write('putName', { undo: 'putItem' })] }, '"putItem" in "undo" is not a GET operation of the product'],
    [
      { writes: [write('putOrder', { undo: 'getItem', columns: [{ field: 'orderNo', as: 'text' }] })] },
      '"getItem" in "undo" does not have the path parameters of putOrder',
    ],
    [{ writes: [write('putItem', { undo: 'getAll' })] }, '"getAll" in "undo" does not return "isNew" of putItem'],
    [{ writes: [write('putName', { undo: 'getItem', tone: 'danger' })] }, 'putName needs a dialog, so it has no undo'],
    [
      { writes: [write('putVersion', { undo: 'getVersion' })] },
      'putVersion does not return the new version, so it has no undo',
    ],
    [{ script: 'a = "</SCRIPT>"' }, 'its "script" contains "</script" or "<!--": write "<\\/script" or "<\\!--"'],
    [{ style: 'a{} </style>' }, 'its "style" contains "</style": remove it'],
    [{ html: '<script>1</script>' }, 'its "html" contains a script, which does not run: move it to "script"'],
    [
      { html: '<script type="module">1</script>' },
      'its "html" contains a script, which does not run: move it to "script"',
    ],
    [
      { html: '<b onclick="x()">' },
      'its "html" contains an event handler, which does not run: use addEventListener in "script"',
    ],
  ]
  for (const [members, problem] of cases) t.strictSame(problemsOf(members), [`page "shop.map": ${problem}`])
})

t.test('the browser receives the operations of a frame, with all members of a write', (t) => {
  const declared = {
    ...page,
    lead: text('All items'),
    texts: { none: text('No items') },
    reads: ['getItem'],
    writes: [
      write('putItem', {
        confirm: text('Sure?'),
        undo: 'getItem',
        reason: 'required',
        columns: [{ field: 'name', as: 'status' }],
      }),
    ],
  } as FramePageDeclaration
  const reader = {
    locale: 'zh-CN',
    can: () => true,
    sees: () => true,
    page: () => undefined,
    created: () => undefined,
    hasLabels: () => true,
  }
  const view = frameView(declared, operations, reader)
  const mayNotRead = { ...reader, can: ({ id }: { readonly id: string }) => id !== 'getItem' }
  t.match(view, {
    id: 'shop.map',
    kind: 'frame',
    title: 'Map 中文',
    lead: 'All items 中文',
    document: 'frames/shop.map',
  })
  t.strictSame(view.texts, { none: 'No items 中文' })
  t.strictSame(Object.keys(view.operations), ['getItems', 'getItem', 'putItem'])
  const { putItem, getItem } = view.operations as Record<string, Record<string, unknown>>
  t.notOk(Object.hasOwn(getItem ?? {}, 'label'), 'a read asks nothing')
  assertMembers(t, putItem, { label: 'Write 中文', confirm: 'Sure? 中文', reason: 'required', params: ['id'] })
  t.hasStrict(putItem?.['undo'], { operation: 'getItem', method: 'GET' })
  const asked = frameView(declared, operations, mayNotRead).operations as typeof view.operations & typeof putItem
  t.equal((asked['putItem'] as { undo?: unknown }).undo, undefined, 'without the former values, the write asks')
  t.strictSame(putItem?.['members'], ['name', 'tags', 'isNew'])
  assertMembers(t, putItem?.['columns'], [
    { field: 'name', as: 'status', title: 'Name' },
    { field: 'tags', as: 'json', title: 'Tags' },
    { field: 'isNew', as: 'flag', title: 'Is new' },
    { field: 'id', as: 'text', title: 'Item' },
  ])
  t.notMatch(JSON.stringify(view), 'plinth.toast', 'the script is only in the document')
  t.end()
})

t.test('the document of a frame allows only its own script', (t) => {
  const { html, headers } = frameDocument({ ...page, html: '<p>\r\n</p>', script: 'let a\r\nlet b\r' })
  const policy = headers['content-security-policy'] ?? ''
  t.match(policy, /^sandbox allow-scripts; default-src 'none'; script-src 'sha256-[\w+/]{43}='; /)
  for (const rule of ["connect-src 'none'", "frame-src 'none'", "form-action 'none'", "base-uri 'none'"])
    t.match(policy, rule)
  t.notMatch(policy, /allow-same-origin|https?:|\*/)
  t.equal(html.match(/<script/g)?.length, 1, 'no script runs without that of the back office')
  t.match(html, /\nlet a\nlet b\n<\/script>/, 'the hash is that of the text that a browser reads')
  t.end()
})
