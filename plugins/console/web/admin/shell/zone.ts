import { useUserPreferences } from './kept-context.ts'
import { useSite } from './site-context.ts'

/** Time zone in which times are shown and typed. */
export interface Zone {
  /** Name in the IANA time zone database. */
  readonly name: string
  readonly site: string
  /** Time zone of this browser. */
  readonly own: string
}

/** Returns the time zone of the site, or that of the browser if the user has chosen it. */
export function useZone(): Zone {
  const { timeZone: site } = useSite()
  const { zone } = useUserPreferences()
  const own = ownZone()
  return { name: zone === 'own' ? own : site, site, own }
}

const ownZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone

/** Returns the offset of a zone from UTC as text, for example "UTC+8". */
export function offsetText(zone: string, at: Date): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'shortOffset' }).formatToParts(at)
  const text = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return text.replace('GMT', 'UTC')
}
