import { Modal } from '@mantine/core'
import { useLanguage } from '../../app/app.tsx'
import classes from './shortcut-list.module.css'
import { type Shortcut, shortcuts } from './shortcuts.ts'

/** Symbols of keys, as printed on keyboards. */
const signs: Readonly<Record<string, string>> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  Enter: '⏎ Enter',
  Escape: 'Esc',
}

const keyName = (key: string) => signs[key] ?? (key.length === 1 ? key.toUpperCase() : key)

/** Dialog with all shortcuts, grouped by the place where they work. */
export default function ShortcutList({ isOpen, onClose }: { readonly isOpen: boolean; onClose(): void }) {
  const { translate } = useLanguage()
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={translate('admin.shortcuts.title')}
      size="lg"
      zIndex={400}
      closeButtonProps={{ 'aria-label': translate('admin.close') }}
    >
      <div className={classes.places}>
        {(Object.keys(shortcuts) as (keyof typeof shortcuts)[]).map((place) => (
          <section key={place} aria-labelledby={`shortcuts-${place}`}>
            <h2 id={`shortcuts-${place}`} className={classes.place}>
              {translate(`admin.shortcuts.place.${place}`)}
            </h2>
            <dl className={classes.keys}>
              {Object.values<Shortcut>(shortcuts[place]).map(({ keys, text }) => (
                <div key={text} className={classes.line}>
                  <dt>{translate(text)}</dt>
                  <dd>
                    {keys.map((key) => (
                      <kbd key={key} className={classes.key}>
                        {keyName(key)}
                      </kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  )
}
