import { Button, Checkbox, FocusTrap, NativeSelect, Radio, TagsInput, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { decimalOf, parseMinorUnits } from './amounts.ts'
import { type EditorProps, isOfUsers, me, valuesOf, wordOf } from './conditions.ts'
import classes from './filter-bar.module.css'
import { choicesOf } from './forms/field-values.ts'
import { LabelsPicker } from './forms/label-picker.tsx'
import { TimeChoice } from './time-filter.tsx'

/** Shows the control of a filter. The kind of the column determines the control. */
export default function FilterEditor(props: EditorProps) {
  const { translate } = useLanguage()
  const { filter, conditions, onChange } = props
  const [empty = ''] = valuesOf(conditions, 'empty')
  return (
    <FocusTrap>
      <div className={classes.editor}>
        <Values {...props} />
        {filter.operators.includes('empty') && (
          <NativeSelect
            size="sm"
            aria-label={translate('admin.filter.content', { title: filter.title })}
            data={[
              { value: '', label: translate('admin.any') },
              { value: 'true', label: translate('admin.filter.empty') },
              { value: 'false', label: translate('admin.filter.filled') },
            ]}
            value={empty}
            onChange={({ currentTarget }) => onChange({ empty: [currentTarget.value] })}
          />
        )}
      </div>
    </FocusTrap>
  )
}

function Values(props: EditorProps) {
  const { translate } = useLanguage()
  const { filter, conditions, onChange, onDone } = props
  const { title, options, operators, as = '' } = filter
  const values = valuesOf(conditions, 'in')
  if (options !== undefined) {
    const more = { ...(isOfUsers(filter) ? { [me]: translate('admin.filter.me') } : {}), ...options.more }
    return (
      <LabelsPicker
        id={`filter-${filter.name}`}
        kind={{ ...options, more }}
        required={false}
        title={title}
        value={values}
        onChange={(ids) => onChange({ in: ids })}
        onLeave={() => {}}
      />
    )
  }
  const choices = choicesOf(filter.schema)
  if (choices !== undefined) {
    const toggled = (choice: string) =>
      values.includes(choice) ? values.filter((one) => one !== choice) : [...values, choice]
    const Choice = filter.isSingle ? Radio : Checkbox
    return choices.map((choice) => (
      <Choice
        key={choice}
        label={wordOf(filter, choice, translate('admin.yes'), translate('admin.no'))}
        checked={values.includes(choice)}
        onChange={() => onChange({ in: toggled(choice) })}
      />
    ))
  }
  if (!operators.includes('in')) {
    const [[from = ''], [to = '']] = [valuesOf(conditions, 'gte'), valuesOf(conditions, 'lte')]
    return (
      <TimeChoice
        range={{ from, to }}
        onChoose={(range) => {
          onChange({ gte: [range.from], lte: [range.to] })
          onDone()
        }}
      />
    )
  }
  if (operators.includes('gte') && as !== 'text' && as !== 'reference') return <Limits {...props} />
  return (
    <TagsInput
      size="sm"
      label={title}
      description={translate('admin.filter.exact')}
      data-autofocus
      value={[...values]}
      onChange={(texts) => onChange({ in: texts })}
      acceptValueOnBlur
    />
  )
}

/** Two fields for the smallest and the largest number. Amounts are typed in the main unit. */
function Limits({ filter, unit, conditions, onChange, onDone }: EditorProps) {
  const { translate } = useLanguage()
  const scale = unit?.scale ?? 0
  const typedOf = (operator: 'gte' | 'lte') => decimalOf(valuesOf(conditions, operator)[0] ?? '', scale) ?? ''
  const [typed, setTyped] = useState({ gte: typedOf('gte'), lte: typedOf('lte') })
  const [isChecked, setChecked] = useState(false)
  const minor = (text: string) => (text.trim() === '' ? '' : parseMinorUnits(text, scale))
  const [gte, lte] = [minor(typed.gte), minor(typed.lte)]
  const hint = unit?.symbol ?? unit?.displayName ?? (filter.as === 'amount' ? translate('admin.filter.minor') : '')
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    setChecked(true)
    if (gte === undefined || lte === undefined) return
    onChange({ gte: [gte], lte: [lte] })
    onDone()
  }
  const field = (name: 'gte' | 'lte', value: string | undefined) => (
    <TextInput
      size="sm"
      inputMode="decimal"
      label={`${translate(`admin.filter.${name}`)}${hint === '' ? '' : ` (${hint})`}`}
      error={isChecked && value === undefined ? translate('admin.filter.number') : undefined}
      {...(name === 'gte' ? { 'data-autofocus': true } : {})}
      value={typed[name]}
      onChange={({ currentTarget }) => setTyped({ ...typed, [name]: currentTarget.value })}
      autoComplete="off"
    />
  )
  return (
    <form className={classes.editor} onSubmit={onSubmit} noValidate>
      {field('gte', gte)}
      {field('lte', lte)}
      <Button type="submit" size="sm">
        {translate('admin.time.apply')}
      </Button>
    </form>
  )
}
