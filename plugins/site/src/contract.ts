import { service } from '@plinth/kernel'

/** Name, address and time zone of the site. All members are live: read them when you use them. */
export interface Site {
  /** True if an operator has set the name. Otherwise `name` is the name of the product file. */
  readonly isNamed: boolean
  /** Short name, never empty. */
  readonly name: string
  /** Title of pages. The name if no title is set. Never empty. */
  readonly title: string
  /** Address without a trailing slash. Empty if it is not known. */
  readonly url: string
  /** Name from the IANA time zone database (decisions B6, E11). */
  readonly timeZone: string
  /** Returns the day of a moment in the time zone of the site, `YYYY-MM-DD`. */
  dayOf(moment: Date): string
}

export const site = service<Site>('site', { from: '@plinth/site' })
