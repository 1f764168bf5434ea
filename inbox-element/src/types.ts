/** Returns a token of the user from your back end: the text, or the response of the operation that creates it. */
export type GetToken = () => TokenSource | Promise<TokenSource>
export type TokenSource = string | { readonly token: string } | { readonly data: { readonly token: string } }

export interface Attachment {
  readonly name: string
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  /** Null if the file cannot be reached. */
  readonly url: string | null
}

/** A notification, as the operation `GET /api/v1/notifications/inbox` returns it. */
export interface InboxItem {
  readonly id: number
  readonly messageId: string
  readonly unread: boolean
  readonly readAt: string | null
  readonly displaySubject: string
  readonly displayContent: string
  readonly module: string
  readonly event: string | null
  readonly targetType: string | null
  readonly targetId: string | null
  /** Semantic route, such as `/forum/topics/12`. Map it to a page of your site. */
  readonly targetRoute: string | null
  readonly attachments: readonly Attachment[]
  /** ISO 8601. */
  readonly createdAt: string
}

export interface UnreadCount {
  /** At most 1,000. */
  readonly count: number
  /** True if there are more. */
  readonly capped: boolean
}

/** `detail` of the event `plinth-open`. */
export interface OpenDetail {
  readonly item: InboxItem
  readonly targetRoute: string | null
}

export interface ListPage {
  readonly items: readonly InboxItem[]
  readonly next: string | null
}

export interface Filter {
  /** Undefined: all categories. */
  readonly category: string | undefined
  readonly unreadOnly: boolean
}
