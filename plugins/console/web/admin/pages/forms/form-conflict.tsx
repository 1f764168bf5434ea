import { Button } from '@mantine/core'
import { useLanguage } from '../../../app/app.tsx'
import type { Field } from '../../api/page-types.ts'
import { labelOf } from '../../api/row-values.ts'
import { plainText } from '../shown-value.ts'
import type { Typed } from './field-values.ts'
import classes from './form-conflict.module.css'
import { type FormOptions, firstValues } from './form-state.ts'

type Values = Readonly<Record<string, Typed>>

interface ConflictProps extends Pick<FormOptions, 'fields' | 'initial' | 'unitOf'> {
  /** The values before the user changed them. */
  readonly first: Values
  readonly values: Values
  /** Called with the input that is applied to the current version. */
  onKeep(changed: Values): void
  onDiscard(): void
}

const isSame = (a: Typed, b: Typed) => JSON.stringify(a) === JSON.stringify(b)

/**
 * Shows which fields another user changed while the form was open. The user then keeps the own entries, which are
 * applied to the current version, or discards them.
 * @param props.initial returns a member of the current version
 */
export function Conflict({ fields, first, values, initial, unitOf, onKeep, onDiscard }: ConflictProps) {
  const { translate } = useLanguage()
  const current = firstValues({ fields, initial, unitOf })
  const own = fields.filter(({ name }) => !isSame(values[name], first[name]))
  const theirs = fields.filter(({ name }) => !isSame(current[name], first[name]))
  const isStored = own.every(({ name }) => isSame(values[name], current[name]))
  const textOf = (field: Field, from: Values) => shownText(field, from[field.name])
  return (
    <>
      <p>{translate(isStored ? 'admin.conflicting.stored' : 'admin.conflicting.lead')}</p>
      {!isStored && theirs.length > 0 && (
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">{translate('admin.conflicting.field')}</th>
              <th scope="col">{translate('admin.conflicting.theirs')}</th>
              <th scope="col">{translate('admin.conflicting.own')}</th>
            </tr>
          </thead>
          <tbody>
            {theirs.map((field) => (
              <tr key={field.name}>
                <th scope="row">{field.title}</th>
                <td>{textOf(field, current)}</td>
                <td>{own.includes(field) ? textOf(field, values) : translate('admin.conflicting.unchanged')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div className={classes.choice}>
        {!isStored && (
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => onKeep(Object.fromEntries(own.map(({ name }) => [name, values[name]])))}
          >
            {translate('admin.conflicting.keep')}
          </Button>
        )}
        <Button size="compact-sm" variant="default" onClick={onDiscard}>
          {translate(isStored ? 'admin.conflicting.current' : 'admin.conflicting.discard')}
        </Button>
      </div>
    </>
  )
}

/** Returns a value as text. Chosen objects are counted, because the form knows only their ids. */
function shownText(field: Field, value: Typed): string {
  const { options, schema } = field
  if (options === undefined) return labelOf(field, value) ?? plainText(value)
  return schema['type'] === 'array' ? String((value as readonly unknown[]).length) : plainText(value)
}
