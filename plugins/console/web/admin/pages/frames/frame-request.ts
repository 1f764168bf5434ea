import type { Value } from '../../api/operations.ts'
import type { FrameOperation } from '../../api/page-types.ts'
import type { Row } from '../../api/row-values.ts'

/** Request of a frame, with only declared members. */
export interface FrameRequest {
  readonly params: Readonly<Record<string, Value>>
  readonly query: Readonly<Record<string, Value | readonly string[]>>
  readonly body: Row
}

/** Reasons why the back office itself rejects a call. A frame receives them with the prefix `frame.`. */
type FrameFailureCode = 'not-declared' | 'not-permitted' | 'parameter' | 'busy' | 'cancelled'

/** The back office rejects a call of a frame. */
export class FrameFailure extends Error {
  readonly code: FrameFailureCode
  /** The wrong member, or the missing permission. */
  readonly subject: string

  constructor(code: FrameFailureCode, subject = '') {
    super(code)
    this.code = code
    this.subject = subject
  }
}

/**
 * Returns the request in a message of a frame. Each path parameter must be given and must be one segment of the path,
 * so that a parameter cannot lead to another operation. Other members must be declared, so that the operator sees all
 * of them. The server checks their values.
 *
 * @throws FrameFailure `parameter` with the wrong member
 */
export function checkedRequest(operation: FrameOperation, message: Row): FrameRequest {
  const params = membersOf(message, 'params', operation.params)
  for (const name of operation.params) if (!isSegment(params[name])) throw new FrameFailure('parameter', name)
  const query = membersOf(message, 'query', operation.query)
  for (const [name, value] of Object.entries(query))
    if (![value].flat().every(isPlain)) throw new FrameFailure('parameter', name)
  const body = membersOf(message, 'body', operation.members)
  return { params: params as FrameRequest['params'], query: query as FrameRequest['query'], body }
}

function membersOf(message: Row, part: string, known: readonly string[]): Row {
  const members = message[part] ?? {}
  if (typeof members !== 'object' || Array.isArray(members)) throw new FrameFailure('parameter', part)
  for (const name of Object.keys(members)) if (!known.includes(name)) throw new FrameFailure('parameter', name)
  return members as Row
}

const isPlain = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

/** A browser resolves the segments `.` and `..`, and an empty segment can lead to the list of objects. */
const isSegment = (value: unknown) => isPlain(value) && String(value).isWellFormed() && !/^\.{0,2}$/.test(String(value))
