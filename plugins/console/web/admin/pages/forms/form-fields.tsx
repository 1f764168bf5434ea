import { Anchor } from '@mantine/core'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Notice } from '../../../app/notice.tsx'
import { isLong } from '../../../field/schema-rules.ts'
import type { Field, Form, Write } from '../../api/page-types.ts'
import { FieldInput } from './field-input.tsx'
import classes from './form-fields.module.css'
import { type FormState, findFieldByPath, type UnitOf } from './form-state.ts'
import { knownChoices } from './linked-fields.ts'

interface FormFieldsProps extends Pick<Form, 'secret' | 'long' | 'sections'>, Pick<Write, 'titles'> {
  readonly fields: readonly Field[]
  readonly state: FormState
  /** Returns the unit of a typed amount. */
  readonly unitOf?: UnitOf
  /** Problems that were found while the user types, by member. */
  readonly notes?: Readonly<Record<string, string>>
  /** Shown instead of the message if another user has changed the object. */
  readonly conflict?: ReactNode
}

/** True if the value of the field must not be shown or stored. */
export const isSecretField = (name: string, secret: readonly string[] = []) =>
  secret.includes(name) || /password|secret|token/i.test(name)

/** Shows the fields of a form in their sections. All errors are listed above them. */
export function FormFields({
  fields,
  state,
  unitOf,
  notes = {},
  conflict,
  secret = [],
  long = [],
  titles = {},
  sections = [],
}: FormFieldsProps) {
  const { translate } = useLanguage()
  const id = useId()
  const { failure, sought } = state
  const notice = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (sought !== undefined) document.getElementById(`${id}-${sought.name}`)?.focus()
    else if (failure !== undefined) notice.current?.scrollIntoView({ block: 'nearest' })
  }, [id, sought, failure])
  const meant =
    failure?.faults.flatMap(({ field }) => titles[findFieldByPath(Object.keys(titles), field) ?? ''] ?? []) ?? []
  const shown = fields.filter(({ name }) => state.isShown(name))
  const grouped = new Set(sections.flatMap((section) => section.fields))
  const inputs = (group: readonly Field[]) =>
    group.map((field) => (
      <FieldInput
        key={field.name}
        id={`${id}-${field.name}`}
        field={field}
        value={state.values[field.name]}
        error={state.errors[field.name] ?? notes[field.name]}
        rules={state.rules[field.name] ?? []}
        isSecret={isSecretField(field.name, secret)}
        isLong={long.includes(field.name) || isLong(field.schema)}
        unit={unitOf?.(field.name, state.values)}
        source={field.choices?.allowed ? knownChoices(field.choices, field, state.current) : undefined}
        stored={state.initial(field.name)}
        onHold={(problem) => state.hold(field.name, problem)}
        titleOf={(name) => fields.find((one) => one.name === name)?.title ?? name}
        onChange={(value) => state.change(field.name, value)}
        onLeave={() => state.leave(field.name)}
      />
    ))
  return (
    <div className={classes.fields}>
      {failure !== undefined && (
        <div ref={notice}>
          <Notice
            tone="bad"
            title={translate('currentVersion' in failure.data ? 'admin.conflict' : 'app.failure.title')}
          >
            {meant.length > 0 && <strong>{meant.join(' · ')}</strong>}
            {conflict || <p>{failure.message === '' ? translate('app.failure.unreachable') : failure.message}</p>}
            {failure.traceId !== '' && (
              <p className={classes.trace}>{translate('app.failure.trace', { traceId: failure.traceId })}</p>
            )}
          </Notice>
        </div>
      )}
      {state.wrong.length > 1 && (
        <Notice tone="bad" title={translate('admin.form.wrong', { count: state.wrong.length })}>
          <ul className={classes.wrong}>
            {state.wrong.map(({ name, title, error }) => (
              <li key={name}>
                <Anchor component="button" type="button" size="sm" onClick={() => state.seek(name)}>
                  {title}
                </Anchor>{' '}
                {error}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {inputs(shown.filter(({ name }) => !grouped.has(name)))}
      {sections.map(({ title, fields: names }) => {
        const own = names.flatMap((name) => shown.find((field) => field.name === name) ?? [])
        return own.length === 0 ? null : (
          <fieldset key={title} className={classes.section}>
            <legend>{title}</legend>
            {inputs(own)}
          </fieldset>
        )
      })}
    </div>
  )
}
