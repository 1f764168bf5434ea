import { useLanguage } from '../../../app/app.tsx'
import classes from './compose.module.css'
import type { Audience } from './compose-types.ts'
import { People } from './people.tsx'

/** Says in words who gets the message on a channel, and who does not. */
export function AudienceText({ of }: { readonly of: Audience }) {
  const { translate } = useLanguage()
  if (!of.enabled) return <p className={classes.warn}>{translate('compose.audience.disabled')}</p>
  if (of.audience === 'fixed') return <p className={classes.who}>{translate('compose.audience.fixed')}</p>
  if (of.audience === 'none') return <p className={classes.warn}>{translate('compose.audience.none')}</p>
  const missing = { mail: 'without-mail', sms: 'without-mobile' }[of.channel] ?? 'without-address'
  const isNobody = of.reached + of.withoutAddress + of.unwanted === 0
  return (
    <>
      <p className={of.reached === 0 && !isNobody ? classes.warn : classes.who}>
        {isNobody ? translate('compose.audience.nobody') : translate('compose.audience.people', { count: of.reached })}
      </p>
      {of.withoutAddress > 0 && (
        <p className={classes.warn}>
          {translate(`compose.audience.${missing as 'without-mail'}`, { count: of.withoutAddress })}{' '}
          <People ids={of.withoutAddressIds.map(String)} count={of.withoutAddress} />
        </p>
      )}
      {of.unwanted > 0 && (
        <p className={classes.warn}>{translate('compose.audience.unwanted', { count: of.unwanted })}</p>
      )}
      {of.quiet > 0 && <p className={classes.who}>{translate('compose.audience.quiet', { count: of.quiet })}</p>}
    </>
  )
}
