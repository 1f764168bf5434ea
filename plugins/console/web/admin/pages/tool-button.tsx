import { Button, type ButtonProps, createPolymorphicComponent } from '@mantine/core'
import type { IconPencil } from '@tabler/icons-react'
import type { Ref } from 'react'

interface ToolButtonProps extends ButtonProps {
  readonly Icon: typeof IconPencil
  readonly label: string
  readonly ref?: Ref<HTMLButtonElement>
}

/** A button that shows only an icon. Its label is the tooltip. */
export const ToolButton = createPolymorphicComponent<'button', ToolButtonProps>(
  ({ Icon, label, ...props }: ToolButtonProps) => (
    <Button variant="default" size="sm" aria-label={label} title={label} {...props}>
      <Icon size={16} aria-hidden />
    </Button>
  ),
)
