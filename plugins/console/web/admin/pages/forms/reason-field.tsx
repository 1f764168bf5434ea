import { TextInput, type TextInputProps } from '@mantine/core'
import { useLanguage } from '../../../app/app.tsx'

interface ReasonFieldProps extends Pick<TextInputProps, 'label' | 'description' | 'withAsterisk'> {
  readonly value: string
  readonly 'data-autofocus'?: boolean
  onChange(reason: string): void
}

/** The field for the reason of a write, which the audit stores. */
export function ReasonField({ onChange, ...props }: ReasonFieldProps) {
  const { translate } = useLanguage()
  return (
    <TextInput
      label={translate('admin.reason')}
      maxLength={200}
      {...props}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
