import type { Translate } from '../../../text/texts.ts'
import { type Api, CallFailure } from '../../api/call.ts'
import { readLabelName } from '../../api/labels.ts'
import type { AmountUnit, FrameOperation } from '../../api/page-types.ts'
import { type Row, valueAt } from '../../api/row-values.ts'
import { toasts } from '../../shell/toasts.ts'
import type { Formats } from '../formats.ts'
import { resultOfWrite } from '../forms/write-outcome.ts'
import { columnText } from '../shown-value.ts'
import type { FrameRequest } from './frame-request.ts'

/** Texts and formats for the messages about writes of a frame. */
export interface FrameWords {
  readonly translate: Translate
  readonly language: string
  readonly formats: Formats
  readonly units: Readonly<Record<string, AmountUnit>>
}

/** A write of a frame runs to its end, even if the frame is closed meanwhile. */
const { signal } = new AbortController()

/** Maximum number of characters of one value in a message. */
const maxValue = 60

/** Returns the title of a write with the names of its row and the sent values, for example "Move · North, Closed". */
export async function titleOfWrite(
  api: Api,
  { label = '', columns = [] }: FrameOperation,
  { params, query, body }: FrameRequest,
  words: FrameWords,
): Promise<string> {
  const sent: Row = { ...query, ...body, ...params }
  const shown = columns.filter(({ field }) => valueAt(sent, field) !== undefined && field !== 'version')
  const rowsFirst = shown.toSorted((a, b) => Number(b.field in params) - Number(a.field in params))
  const names = rowsFirst.map(async (column) => {
    const value = valueAt(sent, column.field)
    if (column.as !== 'reference' || column.of === undefined) return columnText(column, column.field, sent, words)
    const name = readLabelName(api, column.of.labels, String(value), words.language).catch(() => null)
    return (await name) ?? String(value)
  })
  const name = (await Promise.all(names)).map((one) => one.slice(0, maxValue)).join(', ')
  return name === '' ? label : words.translate('admin.named', { title: label, name })
}

/**
 * Executes a write of a frame and shows a message with a button that sends the former values. The back office reads them
 * itself before the write, so that a frame cannot choose them.
 *
 * @param onUndone called after the former values were sent
 * @throws CallFailure; the operator sees it too
 */
export async function writeWithUndo(
  api: Api,
  operation: FrameOperation,
  request: FrameRequest,
  words: FrameWords,
  onUndone: () => void,
): Promise<unknown> {
  const { undo } = operation
  if (undo === undefined) throw new TypeError(`${operation.operation} has no undo`)
  const { params, body } = request
  const title = await titleOfWrite(api, operation, request, words)
  const { translate } = words
  const send = (values: Row) => api.call<Row | null>(operation, { params, body: values, keys: {}, signal })
  const orReport = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof CallFailure) {
        const reason = error.message === '' ? translate('app.failure.unreachable') : error.message
        toasts.show(`${title}: ${reason}`, { isFailure: true })
      }
      throw error
    }
  }
  const before = await orReport(api.call<Row>(undo, { params, signal }))
  const answer = await orReport(send(body))
  const former = Object.fromEntries(
    // The operation may replace the whole row, so members that the frame has left out are restored too.
    operation.members
      .map((name) => [name, valueAt(name === 'version' ? answer : before, name)] as const)
      .filter(([name, value]) => name in body || (value !== undefined && value !== null)),
  )
  const reverse = async () => {
    await orReport(send(former))
    toasts.show(translate('admin.frame.undone', { title }))
    onUndone()
  }
  const result = resultOfWrite(operation, answer, { translate, title, done: translate('admin.done', { title }) })
  toasts.show(result.text, {
    isFailure: result.isFailure,
    // A failure was already shown.
    button: { label: translate('admin.undo'), run: () => void reverse().catch(() => undefined) },
  })
  return answer
}
