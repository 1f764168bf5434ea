import { extensionPoint, type LocalizedText, shape } from '@plinth/kernel'
import { attentionShape } from './page-shapes.ts'

/**
 * Something that may need an operator, found by asking an operation how often it is there. The overview shows what is not
 * zero; who may not call the operation does not see it.
 */
export interface AttentionDeclaration {
  /** Unique in the product, as the plugin that owns it and a word: `events.failed`. */
  readonly id: string
  /** What there is: "Events that were not delivered". The number stands before it. */
  readonly title: LocalizedText
  readonly tone: 'bad' | 'warn'
  /** The operation that is asked. */
  readonly source: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  /** Member of the payload: a number, or a list whose items are counted. Absent: the payload is the list. */
  readonly count?: string
  /** Of a list: members that the items which count have, with their value. */
  readonly where?: Readonly<Record<string, string | number | boolean>>
  /** Of a list: a member that holds something in the items which count. */
  readonly filled?: string
  /** The page that shows it and mends it, with its filters. */
  readonly page?: { readonly id: string; readonly filter?: Readonly<Record<string, string>> }
  /** Where the number stands: on the overview, or beside its page in the navigation, as unread messages do. `overview` when absent. */
  readonly place?: 'overview' | 'navigation'
  /** Tables that the operation reads, where no page declares them: see `PageLife`. */
  readonly live?: readonly string[]
}

/** What needs attention, each contributed under its id. */
export const attention = extensionPoint<AttentionDeclaration>('console.attention', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: attentionShape(),
})
