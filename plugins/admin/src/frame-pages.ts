import type { OperationId, Operations, OperationTypes, Undescribed } from './page-builders.ts'
import { columns } from './page-columns.ts'
import { page } from './page-place.ts'
import {
  among,
  type DataOf,
  labels,
  list,
  localized,
  names,
  optional,
  record,
  shaped,
  text,
} from './page-vocabulary.ts'
import { confirmation, outcome } from './page-writes.ts'

/*
 * Pages with HTML and scripts of the plugin. The back office shows them in a sandboxed frame, which has no network, no
 * cookies and no access to the page around it. The frame calls operations through the back office.
 */

const frameWrite = record({
  operation: text,
  /** Title of the dialog, and label of its button. */
  label: localized,
  confirm: optional(localized),
  /**
   * How the dialog shows members of the request: path parameters, query parameters and body members. The dialog always
   * shows all members. Each path parameter needs a column, so that the user reads the name of the row; other members
   * are shown as text without one.
   */
  columns: optional(columns),
  /** Determines whether the message after the write reports a success or a failure, as for an action. */
  outcome: optional(outcome),
  /**
   * GET operation that returns the row before the write. It has the path parameters of the write, and its result the
   * members of its body. Then the write runs without a dialog while the user works in the frame, and its message has a
   * button that sends the former values.
   */
  undo: optional(text),
  ...confirmation,
})
/**
 * A write that a frame may request. The operator sees the request in a dialog and must confirm it, or can undo it
 * afterwards.
 */
export type FrameWrite = DataOf<typeof frameWrite>

/** A part of the document of a frame. */
const code = shaped<string>({ type: 'string', maxLength: 1_000_000 })

export const framePage = record({
  ...page,
  kind: among(['frame']),
  /** One sentence that explains the page. */
  lead: optional(localized),
  /** Classic script that runs at the end of the document. The global variable `plinth` is a `FrameHost`. */
  script: code,
  /** Content of the body. Scripts and event handlers in it do not run. */
  html: optional(code),
  /** Style sheet. Its variables `--plinth-text`, `--plinth-primary` and so on have the colours of the back office. */
  style: optional(code),
  /** Texts by name. The script receives them in the language of the operator. */
  texts: optional(labels),
  /** Ids of further GET operations that the frame may call. It may always call `source`. */
  reads: optional(names),
  writes: optional(list(frameWrite)),
})
/** A page with its own HTML and scripts. Anyone can read the document, so it must not contain data or secrets. */
export type FramePageDeclaration = DataOf<typeof framePage>

interface FrameOptions
  extends Pick<
    FramePageDeclaration,
    'id' | 'title' | 'lead' | 'place' | 'formerly' | 'script' | 'html' | 'style' | 'texts'
  > {
  readonly reads?: readonly OperationId[]
  readonly writes?: readonly (FrameWrite & { readonly operation: OperationId; readonly undo?: OperationId })[]
}

/** Declares a page with its own HTML and scripts. Users who may call `source` see the page. */
export function adminFrame<O extends OperationId>(
  source: O | Undescribed,
  options: FrameOptions,
): FramePageDeclaration {
  return { kind: 'frame', source, ...options }
}

/** Colours of the back office, as CSS colours. The style sheet has them as `--plinth-<name>`. */
export const frameColours = ['page', 'surface', 'text', 'dimmed', 'border', 'primary', 'good', 'warn', 'bad'] as const

/** Data of the back office that a frame receives. */
export interface FrameContext {
  /** `en` or `zh-CN`. */
  readonly language: string
  /** IANA time zone in which the operator sees times. */
  readonly timeZone: string
  readonly scheme: 'light' | 'dark'
  readonly colours: Readonly<Record<(typeof frameColours)[number], string>>
  /** The texts of the declaration in the language of the operator. */
  readonly texts: Readonly<Record<string, string>>
}

/** Reason why a call failed. */
export interface FrameError {
  /** Stable code: of the server, for example `acme.depot-unknown`, or of the back office, for example `frame.busy`. */
  readonly code: string
  /** Message in the language of the operator. */
  readonly message: string
  /** Member of the request that is wrong, or null. */
  readonly field: string | null
}

type Part<O extends OperationId, Name extends keyof OperationTypes> = Operations[O] extends OperationTypes
  ? Operations[O][Name]
  : never

export interface FrameRequest<O extends OperationId> {
  readonly params?: Part<O, 'params'>
  readonly query?: Partial<Part<O, 'query'>>
  readonly body?: Part<O, 'body'>
}

/** The global variable `plinth` in the script of a frame. */
export interface FrameHost {
  /**
   * Calls an operation with the session and the permissions of the operator. A write asks the operator first, or shows a
   * message with a button that reverses it.
   *
   * @throws FrameError
   */
  call<O extends OperationId>(operation: O, request?: FrameRequest<O>): Promise<Part<O, 'data'>>
  /** Calls the listener with the context, and again after each change. Returns a function that ends this. */
  onContext(listener: (context: FrameContext) => void): () => void
  /** Shows a short message of at most 200 characters in the back office. */
  toast(text: string): void
}
