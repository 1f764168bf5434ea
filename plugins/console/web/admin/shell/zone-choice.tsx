import { SegmentedControl } from '@mantine/core'
import { useLanguage } from '../../app/app.tsx'
import { useUserPreferences } from './kept-context.ts'
import classes from './navigation.module.css'
import { offsetText, useZone } from './zone.ts'

/** Shows the time zone of all displayed times. If site and browser have different zones, the user can choose one. */
export function ZoneChoice() {
  const { translate } = useLanguage()
  const { kept, zone: chosen } = useUserPreferences()
  const { name, site, own } = useZone()
  const shown = `${name} (${offsetText(name, new Date())})`
  return (
    <div className={classes.zone}>
      {site !== own && (
        <SegmentedControl
          size="xs"
          aria-label={translate('admin.zone.title')}
          value={chosen}
          onChange={(value) => kept.setZone(value)}
          data={[
            { value: 'site', label: <span title={site}>{translate('admin.zone.site')}</span> },
            { value: 'own', label: <span title={own}>{translate('admin.zone.own')}</span> },
          ]}
        />
      )}
      <span>{translate('admin.zone.shown', { zone: shown })}</span>
    </div>
  )
}
