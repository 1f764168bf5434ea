import { service } from '@plinth/kernel'

/** Name, address and time zone of the site. The values can change at any time, so read them when you use them. */
export interface Site {
  /** True if an operator has set the name. Otherwise `name` comes from the product file. */
  readonly isNamed: boolean
  /** Short name of the site; never empty. */
  readonly name: string
  /** Title of pages; the name if no title is set. */
  readonly title: string
  /** Public address without a trailing slash; empty if it is not known. */
  readonly url: string
  /** Name in the IANA time zone database (decisions B6, E11). */
  readonly timeZone: string
  /** Returns the day in the time zone of the site, as `YYYY-MM-DD`. */
  dayOf(moment: Date): string
}

export const site = service<Site>('site', { from: '@plinth/site' })
