import { type FramePageDeclaration, type FrameWrite, pageSchema, type Translated, translated } from '@plinth/admin'
import {
  type Column,
  callOf,
  columnViews,
  given,
  labelsIn,
  type Operations,
  type PageViewer,
  withoutUndefined,
} from '../column-and-field-views.ts'
import { membersOf, type Operation, withoutNull } from '../operations.ts'
import { outcomeView } from '../page-views.ts'
import { requestOf } from './frame-faults.ts'

/** Describes a page in a frame: the address of its document, and the operations that it may call. */
export function frameView(declared: FramePageDeclaration, operations: Operations, reader: PageViewer) {
  const page = translated(pageSchema, declared, reader.locale)
  const { id, kind, title, lead, source, texts = {}, reads = [], writes = [] } = page
  const known = <T>(name: string, view: (operation: Operation) => T): readonly (readonly [string, T])[] => {
    const operation = operations.get(name)
    return operation === undefined ? [] : [[name, view(operation)]]
  }
  return {
    id,
    kind,
    title,
    texts,
    ...withoutUndefined({ lead }),
    document: `frames/${id}`,
    operations: Object.fromEntries([
      ...[source, ...reads].flatMap((name) => known(name, (operation) => readView(operation, reader))),
      ...writes.flatMap((write) =>
        known(write.operation, (operation) => writeView(write, operation, operations, reader)),
      ),
    ]),
  }
}

const readView = (operation: Operation, reader: PageViewer) => ({
  ...callOf(operation, reader),
  params: Object.keys(operation.params),
  query: Object.keys(operation.query),
  members: Object.keys(membersOf(operation.body)),
})

function writeView(write: Translated<FrameWrite>, operation: Operation, operations: Operations, reader: PageViewer) {
  const { columns = [], undo = '', ...rest } = write
  const before = operations.get(undo)
  const request = requestOf(operation)
  const shown = new Set(columns.map(({ field }) => field.split('.')[0]))
  const others = Object.entries(membersOf(request))
    .filter(([name]) => !shown.has(name))
    .map(([field, schema]): Column => {
      const type = withoutNull(schema)?.['type']
      return { field, as: type === 'object' || type === 'array' ? 'json' : type === 'boolean' ? 'flag' : 'text' }
    })
  return {
    ...rest,
    ...readView(operation, reader),
    ...outcomeView(rest, labelsIn(columns)),
    // Without the former values, the write asks first.
    ...given(before && reader.can(before) ? before : undefined, 'undo', (one) => callOf(one, reader)),
    columns: columnViews([...columns, ...others], { item: request, helps: operation.helps }, reader),
  }
}
