import type { FramePageDeclaration, FrameWrite } from '@plinth/admin'
import type { Schema } from '@plinth/http'
import { memberAt, membersOf, type Operation, withoutNull } from '../operations.ts'
import { outcomeProblems } from '../outcomes.ts'

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
      ...writeProblems(write, operations),
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

function writeProblems(write: FrameWrite, operations: ReadonlyMap<string, Operation>): readonly string[] {
  const operation = operations.get(write.operation)
  if (operation === undefined) return []
  const { columns = [], outcome } = write
  const request = requestOf(operation)
  const shown = columns.map(({ field }) => field)
  return [
    ...shown
      .filter((field) => memberAt(request, field) === undefined)
      .map((field) => `"${field}" is not a member of the request of ${operation.id}`),
    ...Object.keys(operation.params)
      .filter((name) => !shown.includes(name))
      .map(
        (name) => `the user cannot read which row "${name}" of ${operation.id} is: add a column for it to the write`,
      ),
    ...outcomeProblems(outcome, operation),
    ...undoProblems(write, operation, operations),
  ]
}

/** The former values must be known, and the write must need no dialog. */
function undoProblems(
  { undo, reason, tone }: FrameWrite,
  { id, params, query, body, data }: Operation,
  operations: ReadonlyMap<string, Operation>,
): readonly string[] {
  if (undo === undefined) return []
  const before = operations.get(undo)
  if (before === undefined || before.method !== 'GET')
    return [`"${undo}" in "undo" is not a GET operation of the product`]
  const hasOtherRow = Object.keys(before.params).join() !== Object.keys(params).join()
  const members = Object.keys(membersOf(body))
  const unknown = members.filter((name) => memberAt(before.data, name) === undefined)
  return [
    ...(hasOtherRow ? [`"${undo}" in "undo" does not have the path parameters of ${id}`] : []),
    ...unknown.map((name) => `"${undo}" in "undo" does not return "${name}" of ${id}`),
    ...(members.includes('version') && memberAt(data, 'version') === undefined
      ? [`${id} does not return the new version, so it has no undo`]
      : []),
    ...(reason === 'required' || tone === 'danger' || Object.keys(query).length > 0 || members.length === 0
      ? [`${id} needs a dialog, so it has no undo`]
      : []),
  ]
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
