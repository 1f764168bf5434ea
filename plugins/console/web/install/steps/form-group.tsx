import { IconDatabase, IconFolder, IconServerBolt, IconUserShield, IconWorld } from '@tabler/icons-react'
import { useLanguage } from '../../app/app.tsx'
import { SchemaField } from '../../field/schema-field.tsx'
import { type Field, fixingPlace, type Group, isVisible, type Values } from '../install-form.ts'
import classes from './form-group.module.css'

const icons: Readonly<Record<string, typeof IconWorld>> = {
  site: IconWorld,
  administrator: IconUserShield,
  database: IconDatabase,
  cache: IconServerBolt,
  storage: IconFolder,
}
/** A field with more choices than this uses the full width. */
const narrowChoices = 2

interface FormGroupProps {
  readonly group: Group
  readonly values: Values
  readonly errorOf: (field: Field) => string | undefined
  readonly idOf: (path: string) => string
  /**
   * True if the running configuration has a password, which this page does not know. If the user leaves the field
   * empty, the password is kept.
   */
  readonly hasStoredPassword: boolean
  onChange(field: Field, value: string | boolean): void
  onLeave(field: Field): void
}

/** Shows a group of fields as a card. */
export function FormGroup({ group, values, errorOf, idOf, hasStoredPassword, onChange, onLeave }: FormGroupProps) {
  const { translate } = useLanguage()
  const Icon = icons[group.code] ?? IconWorld
  const headingId = `heading-${group.code}`
  return (
    <section className={classes.card} aria-labelledby={headingId}>
      <header className={classes.header}>
        <span className={classes.badge}>
          <Icon size={20} stroke={1.75} aria-hidden />
        </span>
        <div>
          <h2 className={classes.title} id={headingId}>
            {group.label}
          </h2>
          {group.description !== '' && <p className={classes.description}>{group.description}</p>}
        </div>
      </header>
      <div className={classes.fields}>
        {group.fields
          .filter((field) => isVisible(field, values))
          .map((field) => {
            const { path, label, description, required, candidates, hints } = field
            const isKept = hasStoredPassword && hints.input === 'password' && values[path] === ''
            const place = fixingPlace(field, values)
            const note = isKept ? translate('configuration.stored') : description
            const isWide = hints.input === 'switch' || candidates.length > narrowChoices
            return (
              <div
                key={path}
                className={classes.field}
                data-wide={isWide && hints.input !== 'combobox'}
                data-input={hints.input}
              >
                <SchemaField
                  id={idOf(path)}
                  label={label}
                  description={place === undefined ? note : translate('configuration.fixed', { place })}
                  isFixed={place !== undefined}
                  isRequired={required}
                  input={hints.input}
                  candidates={candidates}
                  placeholder={hints.placeholder}
                  autocomplete={hints.autocomplete}
                  value={values[path] ?? ''}
                  error={errorOf(field)}
                  onChange={(value) => onChange(field, value)}
                  onLeave={() => onLeave(field)}
                />
              </div>
            )
          })}
      </div>
    </section>
  )
}
