import { useRef } from 'react'
import type { FrameOperation, Write } from '../../api/page-types.ts'
import { RowDetails } from '../facts.tsx'
import { WriteDialog } from '../forms/write-dialog.tsx'
import type { FrameRequest } from './frame-request.ts'

interface FrameWriteDialogProps {
  readonly operation: FrameOperation
  readonly request: FrameRequest
  /** Name of the write in the message after it, with the name of the row. */
  readonly name: string
  resolve(result: unknown): void
  /** @param failure error of the last attempt; `undefined` if there was none */
  onClose(failure: Error | undefined): void
}

const constants = (members: object): NonNullable<Write['body']> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, { value }]))

/** Shows everything that a frame wants to send, and sends it if the operator confirms. */
export function FrameWriteDialog({ operation, request, name, resolve, onClose }: FrameWriteDialogProps) {
  const failure = useRef<Error>(undefined)
  const { label = '', confirm, columns = [], params: _, query: __, members: ___, undo: ____, ...write } = operation
  const { params, query, body } = request
  const sent = { ...query, ...body, ...params }
  const shown = columns.filter(({ field }) => (field.split('.')[0] ?? '') in sent)
  return (
    <WriteDialog
      write={{ ...write, params: constants(params), query: constants(query), body: constants(body) }}
      row={{}}
      title={label}
      name={name}
      submit={label}
      onDone={resolve}
      onFailed={(error) => {
        failure.current = error
      }}
      onClose={() => onClose(failure.current)}
    >
      {confirm !== undefined && <p>{confirm}</p>}
      {shown.length > 0 && <RowDetails columns={shown} row={sent} />}
    </WriteDialog>
  )
}
