/** What a page knows of an operation: see the page views of the server. */
export interface Callable {
  readonly method: string
  /** With parameters in braces. */
  readonly path: string
}

export type Value = string | number | boolean | null | undefined
