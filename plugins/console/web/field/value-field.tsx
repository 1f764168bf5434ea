import { ActionIcon, Button, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { useId, useState } from 'react'
import { useLanguage } from '../app/app.tsx'
import { ChoicesEditor, Fault, LongEditor, OneField, StructureEditor, type ValueFieldProps } from './plain-editors.tsx'
import { formText } from './rule-text.ts'
import { isLong, itemSchema, memberSchema, othersSchema, rulesWithin, type Schema } from './schema-rules.ts'
import classes from './value-field.module.css'

type Editor = (props: ValueFieldProps) => React.ReactNode

/**
 * Shows the control for a value of any schema. Structures and lists have special editors. All other values have one
 * field.
 */
export function ValueField(props: ValueFieldProps) {
  const Chosen = editorOf(props.schema, props.isSecret)
  return <Chosen {...props} />
}

function editorOf(schema: Schema, isSecret = false): Editor {
  const { type } = schema
  if (isSecret) return OneField
  if (type === 'array') return 'enum' in itemSchema(schema) ? ChoicesEditor : ListEditor
  if (type === 'object') {
    if (typeof schema['properties'] === 'object') return MembersEditor
    return othersSchema(schema) === undefined ? StructureEditor : EntriesEditor
  }
  return isLong(schema) ? LongEditor : OneField
}

/** Returns the properties of the control of a part: the rules that the part and its own parts break. */
function usePart({ rules = [] }: ValueFieldProps) {
  const { translate } = useLanguage()
  return (part: string) => {
    const own = rulesWithin(rules, part)
    const [first] = own.filter(({ path }) => path === '')
    return { rules: own, error: first && formText(translate, first) }
  }
}

/** Editor for a list: a field for each item, and one for a new item. */
function ListEditor(props: ValueFieldProps) {
  const { id, label, describedBy, schema, value, error, onChange } = props
  const { translate } = useLanguage()
  const partOf = usePart(props)
  const items: readonly unknown[] = Array.isArray(value) ? value : []
  const schemaOfItems = itemSchema(schema)
  const put = (index: number, item: unknown) => onChange(items.with(index, item))
  const add = () => onChange([...items, emptyOf(schemaOfItems)])
  return (
    <fieldset className={classes.list} aria-label={label} aria-describedby={describedBy}>
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items have no identity except their position
        <div key={index} className={classes.item}>
          <ValueField
            id={index === 0 ? id : `${id}-${index}`}
            label={translate('schema.item', { label, position: index + 1 })}
            {...partOf(`[${index + 1}]`)}
            schema={schemaOfItems}
            value={item}
            onChange={(next) => put(index, next)}
          />
          <RemoveButton label={label} position={index + 1} onClick={() => onChange(items.toSpliced(index, 1))} />
        </div>
      ))}
      <AddButton id={items.length === 0 ? id : undefined} label={label} onClick={add} />
      <Fault error={error} />
    </fieldset>
  )
}

const empties: Readonly<Record<string, unknown>> = { array: [], object: {}, boolean: false }
const emptyOf = (schema: Schema): unknown => schema['default'] ?? empties[String(schema['type'])] ?? ''

const recordOf = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {}

/** Editor for a structure with known members: a field for each member. */
function MembersEditor(props: ValueFieldProps) {
  const { id, label, describedBy, schema, value, error, onChange } = props
  const partOf = usePart(props)
  const members = recordOf(value)
  const required = (schema['required'] ?? []) as readonly string[]
  const names = Object.keys(schema['properties'] as object)
  return (
    <fieldset className={classes.members} aria-label={label} aria-describedby={describedBy}>
      {[...new Set([...names, ...Object.keys(members)])].map((name, index) => {
        const own = memberSchema(schema, name)
        const fieldId = index === 0 ? id : `${id}-${name}`
        return (
          <div key={name} className={classes.member}>
            <label htmlFor={fieldId} className={classes.name}>
              {String(own['title'] ?? name)}
              {required.includes(name) && <span aria-hidden> *</span>}
            </label>
            <div>
              <ValueField
                id={fieldId}
                label={String(own['title'] ?? name)}
                {...partOf(name)}
                schema={own}
                value={members[name] ?? (own['type'] === 'boolean' ? false : undefined)}
                onChange={(next) => onChange({ ...members, [name]: next })}
              />
              {typeof own['description'] === 'string' && <p className={classes.hint}>{own['description']}</p>}
            </div>
          </div>
        )
      })}
      <Fault error={error} />
    </fieldset>
  )
}

type Entry = readonly [name: string, value: unknown]

/** Editor for a structure with any member names: a name and a value for each member. */
function EntriesEditor(props: ValueFieldProps) {
  const { id, label, describedBy, schema, value, error, onChange } = props
  const partOf = usePart(props)
  const { translate } = useLanguage()
  const own = useId()
  // An object cannot store two entries with one name, which exist while the user types a longer name.
  const [typed, setTyped] = useState<readonly Entry[]>([])
  const record = recordOf(value)
  const isTyped = JSON.stringify(objectOf(typed)) === JSON.stringify(record)
  const entries = isTyped ? typed : Object.entries(record)
  const write = (next: readonly Entry[]) => {
    setTyped(next)
    onChange(objectOf(next))
  }
  const isRepeated = (name: string, index: number) => entries.findIndex(([other]) => other === name) < index
  return (
    <fieldset className={classes.list} aria-label={label} aria-describedby={describedBy}>
      {entries.map(([name, member], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a name changes while the user types it
        <div key={index} className={classes.item}>
          <TextInput
            id={index === 0 ? id : `${own}-${index}`}
            aria-label={translate('schema.name', { label, position: index + 1 })}
            value={name}
            error={isRepeated(name, index) ? translate('schema.name-repeated') : undefined}
            spellCheck={false}
            autoComplete="off"
            // Only a new entry has no name when it is rendered first.
            ref={name === '' ? focusNew : null}
            onChange={(event) => write(entries.with(index, [event.currentTarget.value, member]))}
          />
          <ValueField
            id={`${own}-${index}-value`}
            label={name === '' ? label : name}
            {...partOf(name)}
            schema={memberSchema(schema, name)}
            value={member}
            onChange={(next) => write(entries.with(index, [name, next]))}
          />
          <RemoveButton label={label} position={index + 1} onClick={() => write(entries.toSpliced(index, 1))} />
        </div>
      ))}
      <AddButton
        id={entries.length === 0 ? id : undefined}
        label={label}
        disabled={entries.some(([name]) => name === '')}
        onClick={() => write([...entries, ['', emptyOf(memberSchema(schema, ''))]])}
      />
      <Fault error={error} />
    </fieldset>
  )
}

/** Returns the structure with the entries. Of entries with one name, the first is used. */
const objectOf = (entries: readonly Entry[]) =>
  Object.fromEntries(entries.filter(([name], index) => entries.findIndex(([other]) => other === name) === index))

const focusNew = (input: HTMLInputElement | null) => input?.focus()

interface RemoveButtonProps {
  readonly label: string
  /** Position of the item; the first item has position 1. */
  readonly position: number
  onClick(): void
}

function RemoveButton({ label, position, onClick }: RemoveButtonProps) {
  const { translate } = useLanguage()
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={translate('schema.remove', { label, position })}
      onClick={onClick}
    >
      <IconX size={16} aria-hidden />
    </ActionIcon>
  )
}

interface AddButtonProps {
  readonly id: string | undefined
  readonly label: string
  readonly disabled?: boolean
  onClick(): void
}

function AddButton({ id, label, disabled = false, onClick }: AddButtonProps) {
  const { translate } = useLanguage()
  return (
    <Button
      id={id}
      variant="default"
      size="xs"
      leftSection={<IconPlus size={14} aria-hidden />}
      aria-label={translate('schema.add-to', { label })}
      disabled={disabled}
      onClick={onClick}
    >
      {translate('schema.add')}
    </Button>
  )
}
