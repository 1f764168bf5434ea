import { Button, Input } from '@mantine/core'
import { type ChangeEvent, type ReactNode, useRef, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import type { Field, StoredFile, Upload } from '../../api/page-types.ts'
import { isStoredFile } from '../../api/row-values.ts'
import { useWrite } from '../../api/use-write.ts'
import { useWhyNot } from '../../api/why-not.ts'
import { FileLink } from '../file-cell.tsx'
import { useFormats } from '../shown-value.ts'
import classes from './file-field.module.css'

interface FileFieldProps {
  readonly id: string
  readonly field: Field
  readonly upload: Upload
  readonly description: ReactNode
  readonly error: string | undefined
  /** Id of the upload or of the stored file; empty without a file. */
  readonly value: string
  /** The file that the object has. */
  readonly stored: unknown
  onChange(value: string): void
  /** Keeps the form from being sent, with the reason. */
  onHold(problem: string | undefined): void
}

/** False if the type of the file is none of the media types. If the browser does not know the type, the server decides. */
const isAccepted = ({ type }: File, types: readonly string[]) =>
  type === '' || types.some((one) => one === type || (one.endsWith('/*') && type.startsWith(one.slice(0, -1))))

/** Returns the content of a file in Base64. */
function contentOf(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
  reader.onerror = () => reject(reader.error)
  reader.readAsDataURL(file)
  return promise
}

interface Chosen {
  readonly file: File
  /** Tells files apart, because a file itself is empty as JSON. */
  readonly about: readonly (string | number)[]
}

/**
 * Uploads a chosen file, and shows the file of the field. The form can be sent when the upload is complete. It is the
 * default export, because `lazy` loads it with the first field for a file.
 */
export default function FileField(props: FileFieldProps) {
  const { id, field, upload, description, error, value, stored, onChange, onHold } = props
  const { title, required, nullable } = field
  const { translate } = useLanguage()
  const whyNot = useWhyNot()
  const api = useApi()
  const formats = useFormats()
  const input = useRef<HTMLInputElement>(null)
  const [uploaded, setUploaded] = useState<StoredFile>()
  const send = useWrite(
    async (signal, { file }: Chosen, keys) => {
      const body = { name: file.name, content: await contentOf(file) }
      return api.call<StoredFile>(upload, { body, keys, signal })
    },
    {
      onSuccess(file) {
        setUploaded(file)
        onHold(undefined)
        onChange(file.id)
      },
      onError(problem) {
        const message = problem instanceof CallFailure ? problem.message : ''
        onHold(message === '' ? translate('app.failure.unreachable') : message)
      },
    },
  )
  const choose = ({ currentTarget: { files } }: ChangeEvent<HTMLInputElement>) => {
    const file = files?.[0]
    if (file === undefined) return
    const limit = formats.count(upload.maxBytes, 'bytes')
    if (!isAccepted(file, upload.types)) return onHold(translate('admin.file.type', { types: upload.types.join(', ') }))
    if (file.size === 0 || file.size > upload.maxBytes) return onHold(translate('admin.file.size', { limit }))
    onHold(translate('admin.file.uploading'))
    send.mutate({ file, about: [file.name, file.size, file.lastModified] })
  }
  const remove = () => {
    if (input.current !== null) input.current.value = ''
    input.current?.focus()
    onHold(undefined)
    onChange('')
  }
  const shown = [uploaded, stored].find((file) => isStoredFile(file) && file.id === value)
  const hint = whyNot(upload)
  // A stored file can only be removed if the operation accepts null.
  const canRemove = value !== '' && (nullable || !isStoredFile(stored))
  return (
    <Input.Wrapper
      id={id}
      label={title}
      description={
        <>
          {description} {hint ?? translate('admin.file.limit', { limit: formats.count(upload.maxBytes, 'bytes') })}
        </>
      }
      descriptionProps={{ id: `${id}-help` }}
      error={send.isPending ? undefined : error}
      errorProps={{ id: `${id}-error` }}
      withAsterisk={required}
    >
      <input
        ref={input}
        id={id}
        type="file"
        className={classes.input}
        accept={upload.types.join(',')}
        disabled={!upload.allowed}
        required={required && value === ''}
        aria-invalid={error !== undefined && !send.isPending}
        aria-describedby={error === undefined ? `${id}-help` : `${id}-help ${id}-error`}
        onChange={choose}
      />
      <div className={classes.chosen}>
        {isStoredFile(shown) ? <FileLink file={shown} isWide={false} /> : value !== '' && <span>{nameOf(value)}</span>}
        {canRemove && upload.allowed && (
          <Button
            size="xs"
            variant="default"
            aria-label={`${translate('admin.file.remove')}: ${title}`}
            onClick={remove}
          >
            {translate('admin.file.remove')}
          </Button>
        )}
        <span role="status">{send.isPending ? translate('admin.file.uploading') : ''}</span>
      </div>
    </Input.Wrapper>
  )
}

const nameOf = (id: string) => id.split('/').at(-1)
