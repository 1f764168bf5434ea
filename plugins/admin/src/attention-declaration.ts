import { extensionPoint, type LocalizedText, shape } from '@plinth/kernel'
import { attentionShape } from './page-shapes.ts'

/**
 * A condition that may need an operator. An operation returns how often it occurs. The overview shows counts above zero
 * to users who may call the operation.
 */
export interface AttentionDeclaration {
  /** Unique in the product: the id of the plugin and a word, for example `events.failed`. */
  readonly id: string
  /** Text after the number: "Events that were not delivered". */
  readonly title: LocalizedText
  readonly tone: 'bad' | 'warn'
  /** Id of the operation. */
  readonly source: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  /** Member of the payload: a number, or a list whose items are counted. Default: the payload is the list. */
  readonly count?: string
  /** Counts only list items whose members have these values. */
  readonly where?: Readonly<Record<string, string | number | boolean>>
  /** Counts only list items whose member with this name is not empty. */
  readonly filled?: string
  /** The page that shows and fixes it, with its filters. */
  readonly page?: { readonly id: string; readonly filter?: Readonly<Record<string, string>> }
  /**
   * Place of the number: on the overview, or next to its page in the navigation, like unread messages. Default:
   * `overview`.
   */
  readonly place?: 'overview' | 'navigation'
  /** Tables that the operation reads, if no page declares them. See `PageLife`. */
  readonly live?: readonly string[]
}

/** Conditions that need attention, each contributed under its id. */
export const attention = extensionPoint<AttentionDeclaration>('console.attention', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: attentionShape(),
})
