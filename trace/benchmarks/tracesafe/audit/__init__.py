"""What is wrong with a set in the released format: shortcuts, doubtful labels, copies."""
