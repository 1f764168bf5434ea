import { Button } from '@mantine/core'
import { useLanguage } from '../../app/app.tsx'
import classes from './list-view.module.css'

/** Shows that no row matches the filters, and the button that removes them. */
export function NothingFound({ onClear }: { onClear(): void }) {
  const { translate } = useLanguage()
  return (
    <div className={classes.empty}>
      <p>{translate('admin.empty.filtered')}</p>
      <Button variant="default" size="sm" onClick={onClear}>
        {translate('admin.empty.clear')}
      </Button>
    </div>
  )
}
