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
  const { timeZone } = useSite()
  const { zone } = useUserPreferences()
  return zoneOf(timeZone, zone)
}

/** Time zone of this browser. It is read once, because each cell with a number or a time uses the zone. */
const own = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** @param site time zone of the site; undefined before the sign-in. Then times are in the zone of the browser. */
export function zoneOf(site: string | undefined, chosen: 'site' | 'own'): Zone {
  return { name: site === undefined || chosen === 'own' ? own : site, site: site ?? own, own }
}

/** Returns the offset of a zone from UTC as text, for example "UTC+8". */
export function offsetText(zone: string, at: Date): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'shortOffset' }).formatToParts(at)
  const text = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return text.replace('GMT', 'UTC')
}
