import type { FramePageDeclaration } from '@plinth/admin'
import type { Schema } from '@plinth/http'
import { memberAt, membersOf, type Operation, withoutNull } from '../operations.ts'

/** Texts that end an element early, or that do not run. */
const misplaced: readonly {
  readonly part: 'script' | 'style' | 'html'
  readonly text: RegExp
  readonly problem: string
}[] = [
  { part: 'script', text: /<\/script|<!--/i, problem: 'contains "</script" or "<!--": write "<\\/script" or "<\\!--"' },
  { part: 'style', text: /<\/style/i, problem: 'contains "</style": remove it' },
  { part: 'html', text: /<script/i, problem: 'contains a script, which does not run: move it to "script"' },
  {
    part: 'html',
    text: /<[^>]+\son[a-z]+\s*=/i,
    problem: 'contains an event handler, which does not run: use addEventListener in "script"',
  },
]

/** Returns the problems of a page in a frame. */
export function frameProblems(
  page: FramePageDeclaration,
  operations: ReadonlyMap<string, Operation>,
): readonly string[] {
  const { source, reads = [], writes = [], script, html = '', style = '' } = page
  const parts = { script, html, style }
  const ids = [source, ...reads, ...writes.map(({ operation }) => operation)]
  const twice = [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))]
  return [
    ...misplaced
      .filter(({ part, text }) => text.test(parts[part]))
      .map(({ part, problem }) => `its "${part}" ${problem}`),
    ...twice.map((id) => `the operation "${id}" is declared twice: remove one of them`),
    ...[source, ...reads].flatMap((id) => operationProblems(id, operations, true)),
    ...writes.flatMap((write) => [
      ...operationProblems(write.operation, operations, false),
      ...columnProblems(write.columns ?? [], operations.get(write.operation)),
    ]),
  ]
}

/** Returns all members of a request in one schema. The dialog of a write shows them together. */
export const requestOf = ({ params, query, body }: Operation): Schema => ({
  type: 'object',
  properties: { ...query, ...membersOf(body), ...params },
})

function operationProblems(id: string, operations: ReadonlyMap<string, Operation>, isRead: boolean): readonly string[] {
  const operation = operations.get(id)
  if (operation === undefined) return [`no loaded plugin provides the operation "${id}"`]
  const { method, access, data, params, query, body } = operation
  const names = [params, query, membersOf(body)].flatMap((members) => Object.keys(members))
  const secret = secretIn(data)
  return [
    ...(isRead === (method === 'GET')
      ? []
      : [isRead ? `"${id}" is not a GET operation: move it to "writes"` : `"${id}" only reads: move it to "reads"`]),
    ...(typeof access === 'object' ? [] : [`"${id}" needs no permission, so a frame must not call it: remove it`]),
    ...(data === undefined ? [`"${id}" returns no envelope, so a frame cannot call it: remove it`] : []),
    ...(secret === undefined ? [] : [`"${id}" returns "${secret}", which may be a secret: remove the operation`]),
    ...(new Set(names).size === names.length
      ? []
      : [`"${id}" has two members of one name in its request, so a frame cannot call it: remove it`]),
  ]
}

function columnProblems(columns: readonly { readonly field: string }[], operation: Operation | undefined) {
  if (operation === undefined) return []
  const request = requestOf(operation)
  return columns
    .filter(({ field }) => memberAt(request, field) === undefined)
    .map(({ field }) => `"${field}" is not a member of the request of ${operation.id}`)
}

const secretName = /password|secret$|token$|privateKey/i

/** Returns the name of the first member of a result that may contain a secret. */
function secretIn(schema: Schema | undefined): string | undefined {
  const plain = withoutNull(schema)
  if (plain === undefined) return undefined
  for (const [name, member] of Object.entries(membersOf(plain))) {
    if (secretName.test(name)) return name
    const inner = secretIn(member)
    if (inner !== undefined) return inner
  }
  return secretIn(plain.items)
}
